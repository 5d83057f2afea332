import { LooseleafError } from '@looseleaf/core'
import type { IndexState, ShardCatalog } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan, type FaultyCall } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { crashingShards, type CrashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { beforeEach, describe, expect, it } from 'vitest'
import { cleanIndex } from '../src/index.ts'
import { drainPending, tunedCleanIndex } from '../src/internal.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'id' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

let shards: CrashingShards
let plan: FaultPlan

beforeEach(() => {
  plan = () => undefined
  shards = crashingShards(2, (driver) => faultyDriver(driver, (call) => plan(call)))
})

const open = (defers = false): Promise<DataStore> =>
  DataStore.open({
    shards: shards.factory,
    indexes: [byName],
    migrate: true,
    queryTimeMs: 1,
    onIndexFailure: defers ? 'defer' : 'fail',
  })

/** Returns an id whose entity and rows are on shard 1. */
function idOnLast(store: DataStore): string {
  for (;;) {
    const id = store.newId()
    if (store.context.router.shardOfId(Buffer.from(id.replaceAll('-', ''), 'hex')) === 1) return id
  }
}

/** Returns the ranks of all rows in the index. */
async function ranks(store: DataStore): Promise<unknown[]> {
  const entry = store.context.catalog.current().indexes.find(({ name }) => name === 'by_rank')!
  const tables = shards.reference.shards.map((shard) => shard.index(tableSpec(entry)))
  return tables.flatMap(({ rows }) => rows.map(({ key }) => key[0]))
}

/** Tells whether this call changes the catalog of a shard so that the index by_rank has this state. */
function makes({ operation, args }: FaultyCall, state: IndexState): boolean {
  if (operation !== 'change') return false
  const [{ indexes }] = args as [ShardCatalog]
  return indexes.some((entry) => entry.name === 'by_rank' && entry.state === state)
}

/** Crashes the server of shard 1 once, just before the first call that meets the condition. */
function crashBefore(isMoment: (call: FaultyCall) => boolean): void {
  let isDone = false
  plan = (call) => {
    if (isDone || !isMoment(call)) return undefined
    isDone = true
    return { before: () => shards.crash(1) }
  }
}

describe('a crash that undoes commits', () => {
  it('a crash does not cause a pending row to be deleted', async () => {
    const byTag = defineIndex('by_tag', { properties: { tag: 'string' }, shardOn: 'tag' })
    const store = await open(true)
    await store.addIndex(byTag)
    await cleanIndex(store)
    plan = (call) =>
      upsertsRows(call, 'index_by_tag')
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined
    const id = idOnLast(store)
    await store.put({ tag: 'deferred' }, { id })
    plan = () => undefined
    shards.hang(1)
    await store.put({ tag: 'written' }, { id })
    crashBefore(({ operation, table }) => operation === 'remove' && table === 'pending')
    await drainPending(store).catch(() => undefined)
    const stored = await store.get(id)
    const { items, cost } = await store.query(byTag, { tag: String(stored?.['tag']) })
    expect(items.length === 1 || !cost.complete).toBe(true)
  }, 20_000)

  it.each([
    ['has another rank', 'it is made ready', 'change', { rank: 2 }],
    ['has another rank', 'its rows are written', 'upsert', { rank: 2 }],
    ['has no rank', 'it is made ready', 'change', {}],
  ])('an index has the row of an entity that %s, after a crash when %s', async (_, __, moment, change) => {
    const [writer, store] = [await open(), await open()]
    const id = idOnLast(store)
    await store.put({ rank: 1 }, { id })
    await store.addIndex(byRank)
    await writer.context.catalog.reload()
    let isWritten = false
    plan = ({ operation, shard }) => {
      if (isWritten || operation !== 'pageByAdded' || shard !== 1) return undefined
      isWritten = true
      return {
        async before() {
          shards.hang(1)
          await writer.put(change, { id })
          await writer.close()
          crashBefore((call) => call.operation === moment)
        },
      }
    }
    await tunedCleanIndex(store, 'by_rank', { settleMs: 0 })
    const stored = await store.get(id)
    const rank = stored?.['rank']
    const wanted = rank === undefined ? [] : [BigInt(Number(rank))]
    expect(await ranks(store)).toEqual(expect.arrayContaining(wanted))
  })

  it('after a crash of a shard, no process writes an entity without its rows in a ready index', async () => {
    const stale = await open()
    const store = await open()
    const id = idOnLast(store)
    // One process reads the catalog just before the change. The last shard receives the change, but it is not durable there.
    plan = (call) => {
      if (!makes(call, 'building')) return undefined
      return {
        async before() {
          if (call.shard === 0) await stale.context.catalog.reload()
          else shards.hang(1)
        },
      }
    }
    await store.addIndex(byRank)
    let isDone = false
    plan = (call) => {
      if (isDone || !makes(call, 'ready')) return undefined
      isDone = true
      return {
        async before() {
          shards.crash(1)
          await stale.put({ rank: 3 }, { id })
        },
      }
    }
    await tunedCleanIndex(store, 'by_rank', { settleMs: 0 })
    expect(isDone).toBe(true)
    expect(await ranks(store)).toEqual([3n])
  })
})
