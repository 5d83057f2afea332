import { expect, test } from 'vitest'
import { createGate } from './gate.ts'

const closed = { code: 'CLOSED', message: 'The shop is closed.' }

test('closing waits for the calls that are under way, and lets none in', async () => {
  const gate = createGate(closed.message)
  const { promise, resolve } = Promise.withResolvers<string>()
  const underWay = gate.pass(() => promise)
  gate.checkOpen()
  let isClosed = false
  const closing = gate.close().then(() => (isClosed = true))
  await expect(gate.pass(async () => 'late')).rejects.toMatchObject(closed)
  expect(() => gate.checkOpen()).toThrow(closed.message)
  expect(isClosed).toBe(false)
  resolve('done')
  expect(await underWay).toBe('done')
  await closing
  await gate.close()
})

test('a call within one that is under way goes in although it is closing, and is waited for', async () => {
  const gate = createGate(closed.message)
  gate.enter()
  let isClosed = false
  const closing = gate.close().then(() => (isClosed = true))
  gate.enterWithin()
  gate.leave()
  await Promise.resolve()
  expect(isClosed).toBe(false)
  gate.leave()
  await closing
})

test('a call that fails has ended too', async () => {
  const gate = createGate(closed.message)
  await expect(gate.pass(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await gate.close()
})
