import { systemTime, type Time } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { createClosing } from './closing.ts'

/** Whose sleeps last until they are called off. */
const endless: Time = {
  ...systemTime,
  sleep: (_, signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('called off'))),
    ),
}

test('what has joined ends, and what was taken back does not', async () => {
  const ended: string[] = []
  const closing = createClosing(endless)
  closing.join(async () => void ended.push('stays'), 1_000)
  closing.join(async () => void ended.push('leaves'), 1_000)()
  await closing.end(Promise.resolve())
  expect(ended).toEqual(['stays'])
})

test('what joins while others end is ended too, and waited for', async () => {
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

test('what joins until the store is closed is ended, and afterwards nothing is', async () => {
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

test('an end that fails keeps no other from its own', async () => {
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

test('no end is waited for beyond what leases last', async () => {
  const asked: number[] = []
  const closing = createClosing({ ...systemTime, sleep: async (ms) => void asked.push(ms) })
  closing.join(() => new Promise(() => {}), 30_000)
  closing.join(() => new Promise(() => {}), 200)
  await closing.end(Promise.resolve())
  expect(asked).toEqual([5_000, 200])
})
