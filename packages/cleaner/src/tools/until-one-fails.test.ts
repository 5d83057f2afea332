import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { untilOneFails } from './until-one-fails.ts'

/** Ends when its signal fires, by throwing the reason. */
const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('is over when all parts are', async () => {
  const done: number[] = []
  await untilOneFails(undefined, [
    async () => void done.push(1),
    async () => {
      await setImmediate()
      done.push(2)
    },
  ])
  expect(done).toEqual([1, 2])
})

test('when one part fails the others are told, waited for, and the first failure is thrown', async () => {
  const first = new Error('first')
  let isOver = false
  const slow = async (signal: AbortSignal): Promise<void> => {
    await untilAborted(signal).catch(() => {})
    await setImmediate()
    isOver = true
    throw new Error('second')
  }
  const failing = async (): Promise<void> => {
    throw first
  }
  await expect(untilOneFails(undefined, [slow, failing])).rejects.toBe(first)
  expect(isOver).toBe(true)
})

test('a failure that is undefined is one', async () => {
  const failing = (): Promise<void> => Promise.reject(undefined)
  await expect(untilOneFails(undefined, [failing])).rejects.toBe(undefined)
})

test('the signal of the caller reaches all parts', async () => {
  const controller = new AbortController()
  const reason = new Error('stop')
  const work = untilOneFails(controller.signal, [untilAborted, untilAborted])
  controller.abort(reason)
  await expect(work).rejects.toBe(reason)
})
