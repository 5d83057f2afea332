import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('settled waits for what was added so far, not for what comes later', async () => {
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

test('there is room for callers that wait as soon as one piece of work has ended', async () => {
  const background = createBackground(2, () => {})
  const works = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  for (const work of works) background.add(work.promise)
  expect(background.isFull).toBe(true)
  let inside = 0
  // None of them adds anything, so nothing but the one that ends can let them all in.
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

test('failures are told, and one that comes of telling harms nobody', async () => {
  const told: unknown[] = []
  const background = createBackground(10, (error) => {
    told.push(error)
    throw new Error('of the teller')
  })
  background.add(Promise.reject(new Error('of the work')))
  await background.settled()
  expect(told).toMatchObject([{ message: 'of the work' }])
})
