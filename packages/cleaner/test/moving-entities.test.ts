import { LooseleafError, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { type FaultPlan, faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanIndex, sweep } from '../src/index.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const everyName = { name: { gte: 'a', lt: 'z' } }

/** Longer than any call here. */
const ENOUGH_MS = 60_000
/** Longer than a cleaner needs for an immediate delete. */
const AT_ONCE_MS = 200

let memory: Driver
const opened: DataStore[] = []

async function open(plan: FaultPlan = () => undefined, migrate = false): Promise<DataStore> {
  const shards = keepOpen(faultyDriver(memory, plan))
  const store = await DataStore.open({
    shards,
    indexes: [byName],
    migrate,
    ...(migrate && { queryTimeMs: ENOUGH_MS }),
  })
  opened.push(store)
  return store
}

/** The faults of a writer that stops after its commit, and leaves its lost rows to the cleaner. */
const neverRemoves: FaultPlan = ({ operation }) =>
  operation === 'remove'
    ? {
        before() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'Nothing is removed (a fault on purpose).')
        },
      }
    : undefined

function nameOn(store: DataStore, shard: number): string {
  for (let n = 0; ; n++) {
    const name = `name ${n}`
    if (store.context.router.shardOfKey(Buffer.from(name)) === shard) return name
  }
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await memory.close()
})

describe('during a query that has not read it yet', () => {
  const ways: Readonly<Record<string, (cleaner: DataStore, signal: AbortSignal) => Promise<unknown>>> = {
    'a sweep': (cleaner, signal) => sweep(cleaner, { signal }),
    'a clean': (cleaner, signal) => cleanIndex(cleaner, 'by_name', { signal }),
  }

  it.each(Object.keys(ways))('%s keeps the row that an entity has just lost', async (way) => {
    const writer = await open(neverRemoves, true)
    const cleaner = await open()
    const { id } = await writer.put({ name: nameOn(writer, 1) })
    const reached = Promise.withResolvers<void>()
    const resume = Promise.withResolvers<void>()
    const reader = await open((call) => {
      if (call.operation !== 'scan' || call.shard !== 1) return undefined
      return {
        before() {
          reached.resolve()
          return resume.promise
        },
      }
    })
    const reading = reader.query(byName, everyName, { scatter: true })
    await reached.promise
    await writer.put({ name: nameOn(writer, 0) }, { id })
    const ends = new AbortController()
    const cleaning = ways[way]?.(cleaner, ends.signal).catch(() => undefined)
    await Promise.race([cleaning, new Promise((resolve) => setTimeout(resolve, AT_ONCE_MS))])
    resume.resolve()
    const { items, cost } = await reading
    ends.abort()
    await cleaning
    expect(cost.complete).toBe(true)
    expect(items.map((entity): EntityId => entity.id)).toEqual([id])
  })
})
