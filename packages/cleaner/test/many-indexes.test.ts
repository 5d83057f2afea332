import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { cleanIndex, sweep } from '../src/index.ts'
import { openStore } from './stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'

// The cost of cleaning many indexes together.

/** Number of calls to the driver: those for one index table, and all others. */
interface Calls {
  ofIndexes: number
  ofRest: number
}

/** Creates a store with this many indexes; each has rows of every entity, on both shards. */
async function storeOf(indexes: number, entities: number): Promise<readonly [DataStore, Calls]> {
  const calls: Calls = { ofIndexes: 0, ofRest: 0 }
  const driver = faultyDriver(await memoryShards(2).connect(), ({ table }) => {
    if (table.startsWith('index_')) calls.ofIndexes++
    else calls.ofRest++
    return undefined
  })
  const definitions = Array.from({ length: indexes }, (_, i) =>
    defineIndex(`by_p${i}`, { properties: { [`p${i}`]: 'integer' }, shardOn: `p${i}` }),
  )
  const store = await openStore({ driver, indexes: definitions, time: leapingTime() })
  // The ids are fixed, because with random ones a shard might lack rows of some table by chance.
  const bags = Array.from({ length: entities }, (_, n) => ({
    id: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
    ...Object.fromEntries(definitions.map((_, i) => [`p${i}`, n + i])),
  }))
  await store.putMany(bags)
  await store.settled()
  return [store, calls]
}

type Work = (store: DataStore) => Promise<unknown>

/** Counts the calls of some work on such a store. */
async function callsOf(work: Work, indexes: number, entities: number): Promise<Calls> {
  const [store, calls] = await storeOf(indexes, entities)
  const before = { ...calls }
  await work(store)
  await store.close()
  return { ofIndexes: calls.ofIndexes - before.ofIndexes, ofRest: calls.ofRest - before.ofRest }
}

it.each<[string, Work, perIndex: number]>([
  // Each table is scanned on each shard.
  ['a clean', (store) => cleanIndex(store), 2],
  ['a sweep', (store) => sweep(store), 2],
  // A restart also writes rows of the entities of each shard to each shard.
  ['a restarted clean', (store) => cleanIndex(store, undefined, { restart: true }), 6],
])(
  '%s of 50 indexes makes as many calls as one of 2, apart from those to each table, even with twice the entities',
  async (_, work, perIndex) => {
    const { ofRest } = await callsOf(work, 2, 30)
    expect(await callsOf(work, 50, 30)).toEqual({ ofIndexes: 50 * perIndex, ofRest })
    expect(await callsOf(work, 50, 60)).toEqual({ ofIndexes: 50 * perIndex, ofRest })
  },
)
