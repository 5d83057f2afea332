import type { DataStore } from '@looseleaf/store'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { checkIndex, cleanIndex, cleaning, readCleanerReport, startCleaner, sweep } from '../src/index.ts'
import { drainPending } from '../src/internal.ts'
import { byUser, openStore } from './stores.ts'

// Calls without types, as from JavaScript.
type Call = (...args: never[]) => unknown

let store: DataStore
beforeAll(async () => {
  store = await openStore()
  await store.put({ user_id: 7, published: 'x' })
})

/** Objects with only a part of a store. */
const halves = [{}, { driver: {} }, { catalog: {} }].map((context) => ({ context }))

/** The calls, each as a function of a store and options. */
const calls: Readonly<Record<string, (target: unknown, options?: unknown) => unknown>> = {
  startCleaner: (target, options) => (startCleaner as Call)(target as never, options as never),
  cleanIndex: (target, options) =>
    (cleanIndex as Call)(target as never, undefined as never, options as never),
  cleaning: (target, options) => (cleaning as Call)(target as never, undefined as never, options as never),
  checkIndex: (target, options) =>
    (checkIndex as Call)(target as never, 'by_user' as never, options as never),
  sweep: (target, options) => (sweep as Call)(target as never, options as never),
  drainPending: (target, options) => (drainPending as Call)(target as never, options as never),
  readCleanerReport: (target, options) => (readCleanerReport as Call)(target as never, options as never),
}

async function expectRefused(call: () => unknown, ...words: string[]): Promise<void> {
  const error: unknown = await (async () => call())().catch((failure: unknown) => failure)
  expect(error).toMatchObject({ code: 'BAD_OPTION' })
  for (const word of words) expect((error as Error).message).toContain(word)
}

describe.each(Object.entries(calls))('%s', (name, call) => {
  it('the call requires a store', async () => {
    for (const target of [undefined, null, {}, 'store', ...halves, store.context])
      await expectRefused(() => call(target), `${name} takes a DataStore; got `)
  })

  it('the call requires options as an object, and rejects unknown ones', async () => {
    for (const options of [null, 'by_user', 3, []])
      await expectRefused(() => call(store, options), `${name} takes options as an object; got `)
    await expectRefused(() => call(store, { interval: 3 }), `${name} has no option "interval"; there are `)
  })
})

test.each([
  ['startCleaner', { intervalMs: 'x' }, 'a number of milliseconds, 0 or more; got a string of 1 character.'],
  ['startCleaner', { graceMs: -1 }, 'a number of milliseconds, 0 or more; got -1.'],
  ['startCleaner', { sweepEveryMs: NaN }, 'a number of milliseconds, 0 or more; got NaN.'],
  ['startCleaner', { onError: 5 }, 'a function; got 5.'],
  ['startCleaner', { keepAlive: 'yes' }, 'true or false; got a string of 3 characters.'],
  ['startCleaner', { rowsPerRound: 0 }, 'a whole number, 1 or more; got 0.'],
  ['cleanIndex', { check: 'no' }, 'true or false; got a string of 2 characters.'],
  ['startCleaner', { rowsPerRound: -5 }, 'a whole number, 1 or more; got -5.'],
  ['startCleaner', { rowsPerRound: 2.5 }, 'a whole number, 1 or more; got 2.5.'],
  ['cleanIndex', { rowsPerSecond: 0 }, 'a number above 0; got 0.'],
  ['cleanIndex', { rowsPerSecond: '5' }, 'a number above 0; got a string of 1 character.'],
  ['cleanIndex', { signal: {} }, 'an AbortSignal; got an object.'],
  ['checkIndex', { rowsPerSecond: '5' }, 'a number above 0; got a string of 1 character.'],
  ['checkIndex', { onProblem: true }, 'a function; got a boolean.'],
])('%s refuses %j', async (name, options, words) => {
  const [option] = Object.keys(options)
  await expectRefused(
    () => calls[name]!(store, options),
    `The option ${option} of ${name} has to be ${words}`,
  )
})

test('a value that names no index is rejected, and the error for a definition points to its name', async () => {
  const definition = 'which is the definition’s .name; got an object.'
  await expectRefused(() => (cleanIndex as Call)(store as never, byUser as never), definition)
  await expectRefused(() => (cleanIndex as Call)(store as never, [byUser] as never), definition)
  await expectRefused(() => (checkIndex as Call)(store as never, byUser as never), definition)
  await expectRefused(() => (sweep as Call)(store as never, { indexes: byUser } as never), definition)
  for (const half of [{ name: 'by_user' }, { properties: {} }, { name: 5, properties: {} }])
    await expectRefused(
      () => (checkIndex as Call)(store as never, half as never),
      'the name of an index; got',
    )
  const forgotten = (): unknown => (cleanIndex as Call)(store as never, { restart: true } as never)
  await expectRefused(
    forgotten,
    'cleanIndex takes the name of an index, an array of names, or undefined',
    'an object',
  )
  await expectRefused(
    () => (checkIndex as Call)(store as never),
    'checkIndex takes the name of an index; got nothing.',
  )
})

test.each(['cleanIndex', 'checkIndex', 'sweep'])(
  '`%s` rejects with the error of an async `onProblem`',
  async (name) => {
    const failure = new Error('the list of problems is full')
    const onProblem = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      throw failure
    }
    await expect(calls[name]!(store, { onProblem })).rejects.toBe(failure)
  },
)
