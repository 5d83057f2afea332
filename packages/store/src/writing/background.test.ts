import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('settled waits for work added so far, and not for later work', async () => {
  const background = createBackground(10, () => {})
  const first = Promise.withResolvers<void>()
  const later = Promise.withResolvers<void>()
  background.add(first.promise)
  const settled = background.settled()
  background.add(later.promise)
  let isAllSettled = false
  const all = background.settled().then(() => (isAllSettled = true))
  first.resolve()
  await settled
  await turn()
  expect(isAllSettled).toBe(false)
  later.resolve()
  await all
})

test('every waiting caller gets room as soon as one piece of work has ended', async () => {
  const background = createBackground(2, () => {})
  const works = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  for (const work of works) background.add(work.promise)
  expect(background.isFull).toBe(true)
  let inside = 0
  // No waiting caller adds work, so only the end of the first one can let all of them in.
  const callers = Array.from({ length: 5 }, () => background.room().then(() => inside++))
  await turn()
  expect(inside).toBe(0)
  works[0]!.resolve()
  await Promise.all(callers)
  expect(background.isFull).toBe(false)
  await background.room()
  for (const work of works) work.resolve()
  await background.settled()
})

test('a waiting caller gets no room while too much work is left', async () => {
  const background = createBackground(2, () => {})
  const works = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  for (const work of works) background.add(work.promise)
  let inside = 0
  const caller = background.room().then(() => inside++)
  works[0]!.resolve()
  await turn()
  expect(inside).toBe(0)
  works[1]!.resolve()
  await caller
  for (const work of works) work.resolve()
  await background.settled()
})

test('a failure is passed to onError, and an exception in onError is ignored', async () => {
  const errors: unknown[] = []
  const background = createBackground(10, (error) => {
    errors.push(error)
    throw new Error('of the teller')
  })
  background.add(Promise.reject(new Error('of the work')))
  await background.settled()
  expect(errors).toMatchObject([{ message: 'of the work' }])
  expect(background.inFlight).toBe(0)
})
