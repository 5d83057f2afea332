import { expect, test } from 'vitest'
import { onRejected, takeCallbacks, withCallbacks } from './callbacks.ts'

test('a call waits for what its functions have promised, and fails with what is rejected first', async () => {
  let isOver = false
  const options = {
    limit: 3,
    tell: async (fails: boolean): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      isOver = true
      if (fails) throw new Error('told')
    },
  }
  expect(
    await withCallbacks(options, async ({ limit, tell }) => {
      void tell(false)
      return limit
    }),
  ).toBe(3)
  expect(isOver).toBe(true)
  await expect(withCallbacks(options, async ({ tell }) => void tell(true))).rejects.toThrow('told')
})

test('once a promise was rejected, the next call of a function throws that', async () => {
  const failure = new Error('told')
  const { options, settled } = takeCallbacks({ tell: () => Promise.reject(failure), other: () => 7 })
  options.tell()
  await expect(settled()).rejects.toBe(failure)
  expect(() => options.other()).toThrow(failure)
})

test('options without functions are given as they are', () => {
  const options = { limit: 3 }
  expect(takeCallbacks(options).options).toBe(options)
})

test('what an answer is rejected with is handed on, and any other answer is left alone', async () => {
  const failure = new Error('told')
  const handed: unknown[] = []
  for (const answer of [undefined, null, 7, Promise.resolve(), Promise.reject(failure)])
    onRejected(answer, (error) => handed.push(error))
  await new Promise((resolve) => setImmediate(resolve))
  expect(handed).toEqual([failure])
})
