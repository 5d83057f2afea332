import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { LooseleafError } from '../errors/errors.ts'
import { untilAborted } from './time.ts'
import { untilSignal } from './until-signal.ts'

/** Yields 1, and then waits until the signal fires. */
async function* once(ended: AbortSignal, log: unknown[] = []): AsyncGenerator<number, void, undefined> {
  try {
    yield 1
    await untilAborted(new Promise<never>(() => {}), ended)
  } finally {
    log.push('left', ended.aborted)
  }
}

test('`return` ends an iteration that waits for its next item', async () => {
  const log: unknown[] = []
  const items = untilSignal(
    () => undefined,
    (ended) => once(ended, log),
  )
  expect(await items.next()).toEqual({ done: false, value: 1 })
  const waiting = items.next()
  expect(await items.return()).toEqual({ done: true, value: undefined })
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(log).toEqual(['left', true])
})

test('`return` before the first item begins no iteration, and ends all calls of `next` that wait', async () => {
  const log: unknown[] = []
  const unbegun = untilSignal(
    () => new AbortController().signal,
    (ended) => once(ended, log),
  )
  await unbegun.return()
  expect(await unbegun.next()).toEqual({ done: true, value: undefined })
  expect(log).toEqual([])
  const items = untilSignal(() => undefined, once)
  await items.next()
  const waiting = [items.next(), items.next(), items.return(), items.return()]
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ done: true, value: undefined })))
})

test.each(['return', 'dispose', 'throw'] as const)('%s ends an iteration between two items', async (how) => {
  const log: unknown[] = []
  const items = untilSignal(
    () => undefined,
    (ended) => once(ended, log),
  )
  await items.next()
  const cause = new Error('The reader has failed.')
  if (how === 'throw') await expect(items.throw(cause)).rejects.toBe(cause)
  else if (how === 'return') await items.return()
  else await items[Symbol.asyncDispose]()
  expect(log).toEqual(['left', true])
  expect(await items.next()).toEqual({ done: true, value: undefined })
})

test('an iteration that ends leaves no listener on the signal of its caller, and passes its reason on', async () => {
  const { signal } = new AbortController()
  for await (const _ of untilSignal(() => signal, once)) {
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    break
  }
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const aborter = new AbortController()
  const reasons: unknown[] = []
  for await (const _ of untilSignal(
    () => aborter.signal,
    (ended) => {
      ended.addEventListener('abort', () => reasons.push(ended.reason))
      return once(ended)
    },
  ))
    aborter.abort('enough')
  expect(reasons).toEqual(['enough'])
})

test('`return` throws an error at the end of an iteration, and leaves no listener on the signal of its caller', async () => {
  const { signal } = new AbortController()
  const closed = new LooseleafError('CLOSED', 'The shop is closed.')
  const items = untilSignal(
    () => signal,
    async function* (): AsyncGenerator<number, void, undefined> {
      try {
        yield 1
      } finally {
        await Promise.reject(closed)
      }
    },
  )
  await items.next()
  await expect(items.return()).rejects.toBe(closed)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('an error of the iteration, and one of `signalOf`, are thrown by `next`', async () => {
  const closed = new LooseleafError('CLOSED', 'The shop is closed.')
  const failing = untilSignal(
    () => undefined,
    async function* (): AsyncGenerator<number, void, undefined> {
      yield 1
      throw closed
    },
  )
  await failing.next()
  await expect(failing.next()).rejects.toBe(closed)
  const refused = untilSignal(() => {
    throw closed
  }, once)
  await expect(refused.next()).rejects.toBe(closed)
})
