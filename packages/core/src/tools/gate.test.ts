import { expect, test } from 'vitest'
import { createGate } from './gate.ts'

const closed = { code: 'CLOSED', message: 'The shop is closed.' }

test('close waits for the calls inside, and admits no other', async () => {
  const gate = createGate(closed.message)
  gate.enter()
  gate.checkOpen()
  let isClosed = false
  const closing = gate.close().then(() => (isClosed = true))
  expect(() => gate.enter()).toThrow(expect.objectContaining(closed))
  expect(() => gate.checkOpen()).toThrow(closed.message)
  expect(isClosed).toBe(false)
  gate.leave()
  await closing
  await gate.close()
})

test('a closing gate admits a call within one that is inside, and waits for it', async () => {
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

test('a gate counts the calls inside, and all that have entered', async () => {
  const gate = createGate(closed.message)
  gate.enter()
  gate.enterWithin()
  gate.leave()
  gate.enter()
  gate.leave()
  expect([gate.inFlight, gate.entered]).toEqual([1, 3])
})
