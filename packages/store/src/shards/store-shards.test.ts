import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { StoreShards } from './store-shards.ts'

let store: DataStore

/** Names of the calls that an observer was told of. */
let calls: string[]

beforeEach(async () => {
  calls = []
  store = await DataStore.open({
    // Calls of a closed store fail although its shards still answer.
    shards: keepOpen(await memoryShards(2).connect()),
    migrate: true,
    observer: { callEnded: ({ name }) => void calls.push(name) },
  })
})
afterEach(() => store.close())

const PLAN = { from: 0, to: 1, buckets: '0' }

/** Every call of `store.shards`, with options that it does not check for itself. */
const CALLS: readonly (readonly [
  name: keyof StoreShards,
  call: (shards: StoreShards, options?: object) => Promise<unknown>,
])[] = [
  ['list', (shards, options) => shards.list(options)],
  ['add', (shards, options) => shards.add('memory 2', options)],
  ['remove', (shards, options) => shards.remove(1, options)],
  ['plan', (shards, options) => shards.plan(PLAN, options)],
  ['move', (shards, options) => shards.move(PLAN, options)],
  ['drain', (shards, options) => shards.drain(1, options)],
  ['stopDraining', (shards, options) => shards.stopDraining(1, options)],
  ['rebalance', (shards, options) => shards.rebalance(options)],
  ['moves', (shards, options) => shards.moves(options)],
  ['undo', (shards, options) => shards.undo(1, options)],
  ['repair', (shards, options) => shards.repair(options)],
]

test.each(CALLS)('%s refuses an unknown option by its own name, and does nothing', async (name, call) => {
  const before = await store.context.catalog.reload()
  await expect(call(store.shards, { soon: true })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(`shards.${name} has no option "soon"; there are`),
  })
  expect((await store.context.catalog.reload()).epochs).toEqual(before.epochs)
})

test.each(CALLS)('%s of a closed store is CLOSED', async (_, call) => {
  await store.close()
  await expect(call(store.shards)).rejects.toMatchObject({ code: 'CLOSED' })
})

test('an observer is told of the calls that end soon, by their names', async () => {
  const { shards } = store
  await shards.list()
  await shards.moves()
  await shards.plan(PLAN)
  await shards.stopDraining(1)
  await shards.add('memory 1').catch(() => undefined)
  await shards.remove(1).catch(() => undefined)
  expect(calls).toEqual([
    'shards.list',
    'shards.moves',
    'shards.plan',
    'shards.stopDraining',
    'shards.add',
    'shards.remove',
  ])
})

test.each([
  ['shard', 'drain', (shards: StoreShards) => shards.drain('1' as never)],
  ['shard', 'stopDraining', (shards: StoreShards) => shards.stopDraining(0.5)],
  ['shard', 'remove', (shards: StoreShards) => shards.remove(NaN)],
  ['move', 'undo', (shards: StoreShards) => shards.undo('1' as never)],
])('the %s of %s has to be a number', async (thing, name, call) => {
  await expect(call(store.shards)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(
      `The ${thing} of shards.${name} has to be the number of a ${thing}; got`,
    ),
  })
})

test('an option of another type is BAD_OPTION', async () => {
  await expect(store.shards.remove(1, { dryRun: 1 as never })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(store.shards.list({ sizes: 1 as never })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(store.shards.move(PLAN, { rowsPerSecond: 0 })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('has to be a number above 0; got 0'),
  })
})
