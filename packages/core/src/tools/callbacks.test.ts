import { expect, test } from 'vitest'
import { onRejected, takeCallbacks, withCallbacks } from './callbacks.ts'

test('a call waits for the promises of its functions, and rejects with their first rejection', async () => {
  let hasSettled = false
  const options = {
    limit: 3,
    tell: async (fails: boolean): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      hasSettled = true
      if (fails) throw new Error('rejected')
    },
  }
  expect(
    await withCallbacks(options, async ({ limit, tell }) => {
      void tell(false)
      return limit
    }),
  ).toBe(3)
  expect(hasSettled).toBe(true)
  await expect(withCallbacks(options, async ({ tell }) => void tell(true))).rejects.toThrow('rejected')
})

test('after a rejected promise, the next call of any function throws its error', async () => {
  const failure = new Error('rejected')
  const { options, settled } = takeCallbacks({ tell: () => Promise.reject(failure), other: () => 7 })
  options.tell()
  await expect(settled()).rejects.toBe(failure)
  expect(() => options.other()).toThrow(failure)
})

test('options without functions are returned unchanged', () => {
  const options = { limit: 3 }
  expect(takeCallbacks(options).options).toBe(options)
})

test('onRejected passes on the rejection of a promise, and ignores other values', async () => {
  const failure = new Error('rejected')
  const passedOn: unknown[] = []
  for (const answer of [undefined, null, 7, Promise.resolve(), Promise.reject(failure)])
    onRejected(answer, (error) => passedOn.push(error))
  await new Promise((resolve) => setImmediate(resolve))
  expect(passedOn).toEqual([failure])
})
