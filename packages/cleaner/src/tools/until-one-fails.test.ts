import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { untilOneFails } from './until-one-fails.ts'

/** Rejects with the reason of the signal when it fires. */
const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('the work resolves when all parts have ended', async () => {
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

test('if one part fails, the others are aborted and awaited, and the first error is thrown', async () => {
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

test('a part that rejects with undefined counts as failed', async () => {
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
