import { LooseleafError, parseId, type Driver, type DriverFactory } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const NAMES = Array.from({ length: 24 }, (_, i) => `name ${i}`)

let memory: Driver
let ids: string[]
let opened: DataStore[]
/** Whether the shards whose addresses were exchanged do not answer. */
let areSilent: boolean

beforeEach(async () => {
  memory = await memoryShards(3).connect()
  opened = []
  areSilent = true
  const store = await open(keepOpen(memory), true)
  ids = (await store.putMany(NAMES.map((name) => ({ name })))).map(({ id }) => id)
})
afterEach(async () => {
  for (const store of opened) await store.close()
  await memory.close()
})

async function open(shards: DriverFactory, migrate = false): Promise<DataStore> {
  const store = await DataStore.open({ shards, indexes: [byName], migrate, onWarning: () => {} })
  opened.push(store)
  return store
}

/** Returns the shards after shard 0 and shard 2 have exchanged their addresses, and with them their names. */
function exchanged(): DriverFactory {
  const [first, second, third] = memory.shards as [
    Driver['shards'][0],
    Driver['shards'][0],
    Driver['shards'][0],
  ]
  const shards = [{ ...third, name: first.name }, second, { ...first, name: third.name }]
  return keepOpen(
    faultyDriver({ ...memory, shards }, ({ shard }) =>
      areSilent && shard !== 1
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    ),
  )
}

const shardOf = (store: DataStore, id: string): number =>
  store.context.catalog.current().placement.shardOfId(parseId(id))

test('silent shards that were taken for each other by their names refuse calls, and say to open the store again', async () => {
  const store = await open(exchanged())
  areSilent = false
  for (const id of ids) {
    const shard = shardOf(store, id)
    if (shard === 1) expect(await store.get(id)).toBeDefined()
    else
      await expect(store.get(id)).rejects.toMatchObject({
        code: 'LAYOUT_MISMATCH',
        shard: `memory ${shard}`,
        message: `Shard memory ${shard}: it is shard ${2 - shard} of its store, but was taken for shard ${shard} while it did not answer. Open the store again now that it answers.`,
      })
  }
  const again = await open(exchanged())
  for (const [i, id] of ids.entries()) expect(await again.get(id)).toMatchObject({ name: NAMES[i] })
})

test('no reload of the catalog succeeds in a process that has taken silent shards for each other, until it opens the store again', async () => {
  const store = await open(exchanged())
  await store.context.catalog.reload()
  areSilent = false
  for (let look = 0; look < 2; look++)
    await expect(store.context.catalog.reload()).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  await (await open(exchanged())).context.catalog.reload()
})

test('a write to a silent shard that was taken for another one is refused, and nothing is written', async () => {
  const store = await open(exchanged())
  areSilent = false
  let id: string
  do id = store.newId()
  while (shardOf(store, id) !== 0)
  await expect(store.put({ name: 'new' }, { id })).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  for (const { entities } of memory.shards)
    expect(await entities.readVersions([parseId(id)])).toEqual([undefined])
})
