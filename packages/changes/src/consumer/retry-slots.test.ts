import { expect, test } from 'vitest'
import { createRetrySlots, type RetrySlots } from './retry-slots.ts'

const soon = (): boolean => false
const free = (slots: RetrySlots): number => slots.free(true)

test('half of the slots of a process are for retries, and the shards that have some share them', () => {
  const create = createRetrySlots(9)
  const [first, second, third] = [create(), create(), create()]
  expect(free(first)).toBe(4)
  expect([free(second), free(first)]).toEqual([2, 2])
  expect(third.free(false)).toBe(2)
  expect(second.free(false)).toBe(4)
  expect(free(first)).toBe(4)
})

test('every shard has a slot for retries, however few there are', () => {
  const create = createRetrySlots(1)
  const shards = [create(), create()]
  expect(shards.map(free)).toEqual([1, 1])
})

test('retries that run, and those that wait, take the slots of their shard', async () => {
  const slots = createRetrySlots(4)()
  const { promise: held, resolve: release } = Promise.withResolvers<string>()
  expect(free(slots)).toBe(2)
  const retries = [1, 2, 3].map(() => slots.take(soon, () => held))
  expect(free(slots)).toBe(0)
  await new Promise((resolve) => setImmediate(resolve))
  // By now two of them run.
  expect(free(slots)).toBe(0)
  release('done')
  expect(await Promise.all(retries)).toEqual(['done', 'done', 'done'])
  expect(free(slots)).toBe(2)
})

test('a retry that is late when it gets the slot of its shard does not begin', async () => {
  const slots = createRetrySlots(2)()
  let begun = 0
  expect(
    await slots.take(
      () => true,
      async () => ++begun,
    ),
  ).toBe(false)
  expect(await slots.take(soon, async () => ++begun)).toBe(1)
})
