import { expect, test } from 'vitest'
import { createGate } from './gate.ts'

test('closing waits for whoever is inside, and lets nobody in', async () => {
  const gate = createGate()
  const { promise, resolve } = Promise.withResolvers<string>()
  const inside = gate.pass(() => promise)
  let closed = false
  const closing = gate.close().then(() => (closed = true))
  await expect(gate.pass(async () => 'late')).rejects.toMatchObject({ code: 'CLOSED' })
  expect(closed).toBe(false)
  resolve('done')
  expect(await inside).toBe('done')
  await closing
})

test('work that fails leaves the gate too', async () => {
  const gate = createGate()
  await expect(gate.pass(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await gate.close()
})
