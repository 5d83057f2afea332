import { expect, test } from 'vitest'
import { createSlots } from './slots.ts'

test('calls run at once up to the number of slots, and the others follow in their order', async () => {
  const slots = createSlots(2)
  const began: number[] = []
  const ends: (() => void)[] = []
  const calls = [0, 1, 2, 3].map((number) =>
    slots.pass(async () => {
      began.push(number)
      await new Promise<void>((resolve) => ends.push(resolve))
    }, undefined),
  )
  await Promise.resolve()
  expect(began).toEqual([0, 1])
  ends[1]!()
  await calls[1]
  expect(began).toEqual([0, 1, 2])
  ends[0]!()
  await calls[0]
  for (const end of ends) end()
  await new Promise((resolve) => setImmediate(resolve))
  for (const end of ends) end()
  await Promise.all(calls)
  expect(began).toEqual([0, 1, 2, 3])
})

test('a call that is aborted while it waits rejects with ABORTED, and leaves its slot to the next', async () => {
  const slots = createSlots(1)
  const { promise: held, resolve: end } = Promise.withResolvers<void>()
  const first = slots.pass(() => held, undefined)
  const aborting = new AbortController()
  const second = slots.pass(async () => 'second', aborting.signal)
  const third = slots.pass(async () => 'third', undefined)
  aborting.abort()
  await expect(second).rejects.toMatchObject({ code: 'ABORTED' })
  end()
  await first
  expect(await third).toBe('third')
})

test('a call that fails gives its slot back', async () => {
  const slots = createSlots(1)
  await expect(slots.pass(() => Promise.reject(new Error('fails')), undefined)).rejects.toThrow('fails')
  expect(await slots.pass(async () => 'next', undefined)).toBe('next')
})
