import { formatId, parseId, type Driver, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { announceMove, walkUnread, watchOwned } from '@looseleaf/protocol/internal'
import { bucketOfId, moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { contentsOf, openStore } from './stores.ts'

let driver: Driver
let store: DataStore

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await openStore(driver, leapingTime())
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

/** Returns a row in these buckets, of which shard 0 has the first 2,048. */
function rowIn(from: number, to: number): { readonly id: Uint8Array } {
  for (;;) {
    const id = parseId(store.newId())
    const bucket = bucketOfId(id)
    if (bucket >= from && bucket <= to) return { id }
  }
}

test('a copy does not count for a process that has not noticed the announcement of its move', async () => {
  const watch = await watchOwned(store.context, 1, {})
  const [copy, own] = [rowIn(0, 9), rowIn(2_048, 4_095)]
  const mover = await openStore(driver, leapingTime())
  await announceMove(mover.context, { from: 0, to: 1, buckets: '0-9' })
  expect(await watch.owned([own, copy])).toEqual([own])
  await mover.close()
})

test('a walk over some buckets gives no row of others, also in a store without moves', async () => {
  const [row, other] = [rowIn(0, 9), rowIn(10, 2_047)]
  const unread = new Set([bucketOfId(row.id)])
  const found: unknown[] = []
  const read = async function* () {
    yield [row, other]
  }
  for await (const run of walkUnread(store.context, unread, read, {})) found.push(run)
  expect(found).toEqual([[[row], 0]])
})

test('a scan of a store without moves gives entities on wrong shards', async () => {
  const { id: bytes } = rowIn(0, 2_047)
  const id = formatId(bytes)
  await store.put({ name: 'ada' }, { id })
  const [source, target] = driver.shards as [Shard, Shard]
  const [row] = await source.entities.read([bytes])
  await source.entities.discard([bytes], { epoch: (await source.catalog.load())!.epoch })
  const updated = await target.entities.raiseFloor()
  await target.entities.receive([row!], { epoch: (await target.catalog.load())!.epoch, updated })
  expect([...(await contentsOf(store)).keys()]).toEqual([id])
})

test('a scan of a store without buckets gives all entities', async () => {
  const router = moduloRouter({ shards: 2 })
  const plain = await DataStore.open({ shards: memoryShards(2), router, migrate: true })
  const { id } = await plain.put({ name: 'ada' })
  expect([...(await contentsOf(plain)).keys()]).toEqual([id])
  await plain.close()
})
