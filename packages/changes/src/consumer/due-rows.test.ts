import { parseId, type EntityId, type Shard } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { FaultyCall } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Search } from '../../test/search.ts'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { createReadDueRows, type ReadDueRows } from './due-rows.ts'
import type { HeldPartition } from './partition-leases.ts'

const AHEAD = 8_000_000_000_000_000

let search: Search
let store: DataStore
let shard: Shard
let epoch: number
let partition: HeldPartition
let readDueRows: ReadDueRows
let flushes: number
let onFlush: () => Promise<unknown> | void

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  shard = store.context.driver.shards[0]!
  ;({ epoch } = await shard.entities.floor())
  flushes = 0
  onFlush = () => {}
  search.plan = (call: FaultyCall) => {
    if (call.operation !== 'flush') return undefined
    flushes++
    return { before: async () => void (await onFlush()) }
  }
  const place = { updated: AHEAD, addedId: 0 }
  partition = { number: 0, place, since: 1, failing: new Map(), isHeld: true }
  const moved = {
    get epoch() {
      return epoch
    },
  }
  readDueRows = createReadDueRows(store.context, () => shard, moved, new AbortController().signal)
})
afterEach(() => search.end(store))

function fail(id: EntityId, version: number): void {
  partition.failing.set(id, { id, version, attempts: 1, error: '', failedAt: 1 })
}

const read = (...ids: readonly EntityId[]): ReturnType<ReadDueRows> =>
  readDueRows(new Map(ids.map((id) => [id, partition])))

async function put(id = idOn(store, 0)): Promise<{ readonly id: EntityId; readonly version: number }> {
  const { version } = await store.put({ n: 1 }, { id })
  return { id, version }
}

test('the current rows of failing changes are read, without a flush if none was written after the places', async () => {
  const { id, version } = await put()
  fail(id, version - 1)
  expect(await read(id)).toEqual(new Map([[id, expect.objectContaining({ version })]]))
  expect(flushes).toBe(0)
})

test('a failing change without a row is a deletion, with its own version or the highest one that was purged', async () => {
  const [id, other] = [idOn(store, 0), idOn(store, 0)]
  fail(id, 7)
  fail(other, 5)
  const deletion = (of: EntityId, version: number) => ({
    id: parseId(of),
    version,
    updated: AHEAD - 1,
    body: null,
  })
  const rows = await read(id, other)
  expect([rows.get(id), rows.get(other)]).toEqual([deletion(id, 7), deletion(other, 5)])
  await shard.entities.raisePurged({ updated: 1, version: 7 }, { epoch })
  const purged = await read(id, other)
  expect([purged.get(id), purged.get(other)]).toEqual([deletion(id, 7), deletion(other, 6)])
  expect(flushes).toBe(0)
})

test('no row is read after a change of the buckets', async () => {
  const { id, version } = await put()
  fail(id, version)
  epoch++
  expect((await read(id)).size).toBe(0)
})

test('rows that were written after the places are flushed, and those that have changed meanwhile wait', async () => {
  const [stays, changes, comes] = [await put(), await put(), idOn(store, 0)]
  fail(stays.id, stays.version)
  fail(changes.id, changes.version)
  const row = (await shard.entities.read([parseId(stays.id)]))[0]!
  partition.place = { updated: row.updated, addedId: 0 }
  onFlush = async () => {
    await put(changes.id)
    await put(comes)
  }
  expect(await read(stays.id, changes.id, comes)).toEqual(
    new Map<EntityId, unknown>([
      [stays.id, expect.objectContaining({ version: stays.version })],
      [changes.id, 'later'],
      [comes, 'later'],
    ]),
  )
  expect(flushes).toBe(1)
})
