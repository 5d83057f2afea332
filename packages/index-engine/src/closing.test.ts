import type { Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { createClosing } from './closing.ts'

/** A time whose sleeps last until they are aborted. */
const endless: Time = {
  ...systemTime,
  sleep: (_, signal) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
}

test('closing stops the work that joined, and not the work that was removed', async () => {
  const ended: string[] = []
  const closing = createClosing(endless)
  closing.join(async () => void ended.push('stays'), 1_000)
  closing.join(async () => void ended.push('leaves'), 1_000)()
  await closing.end(Promise.resolve())
  expect(ended).toEqual(['stays'])
})

test('work that joins during closing is stopped and awaited', async () => {
  const ended: string[] = []
  const closing = createClosing(endless)
  closing.join(async () => {
    const leave = closing.join(async () => {
      await Promise.resolve()
      leave()
      ended.push('late')
    }, 1_000)
    ended.push('first')
  }, 1_000)
  await closing.end(Promise.resolve())
  expect(ended).toEqual(['first', 'late'])
})

test('closing stops late work until the store is closed, and nothing afterwards', async () => {
  const ended: string[] = []
  const closing = createClosing(endless)
  const closed = Promise.withResolvers<void>()
  const end = closing.end(closed.promise)
  await new Promise((resolve) => setImmediate(resolve))
  closing.join(async () => void ended.push('late'), 1_000)
  closed.resolve()
  await end
  closing.join(async () => void ended.push('too late'), 1_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(ended).toEqual(['late'])
})

test('a stop that rejects does not prevent other stops', async () => {
  const ended: string[] = []
  const closing = createClosing(endless)
  closing.join(() => Promise.reject(new Error('fails')), 1_000)
  closing.join(async () => {
    closing.join(() => Promise.reject(new Error('fails late')), 1_000)
    ended.push('other')
  }, 1_000)
  await closing.end(Promise.resolve())
  expect(ended).toEqual(['other'])
})

test('closing waits for a stop at most five seconds, or as long as its lease', async () => {
  const sleeps: number[] = []
  const closing = createClosing({ ...systemTime, sleep: async (ms) => void sleeps.push(ms) })
  closing.join(() => new Promise(() => {}), 30_000)
  closing.join(() => new Promise(() => {}), 200)
  await closing.end(Promise.resolve())
  expect(sleeps).toEqual([5_000, 200])
})
