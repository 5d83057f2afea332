import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, withoutPauses } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

/** Claims on the shard of their entity, which are taken after its far rows were written. */
const byOwner = defineIndex('by_owner', { properties: { owner: 'uuid' }, shardOn: 'owner', unique: true })
/** Claims and rows on the other shard. */
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

const indexes = [byOwner, byMail, byName]

let memory: Driver
let store: DataStore

const openOn = (driver: Driver): Promise<DataStore> =>
  DataStore.open({
    shards: keepOpen(driver),
    indexes,
    migrate: true,
    router: farRouter(),
    time: withoutPauses,
  })

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  store = await openOn(memory)
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Returns the numbers of rows and claims on all shards, by their tables. */
async function counts(): Promise<Record<string, number>> {
  await store.settled()
  const { catalog, driver } = store.context
  const tables = catalog.current().indexes.map(async (entry) => {
    const ofShards = driver.shards.map((shard) => shard.index(tableSpec(entry)).count({ prefix: [] }))
    return [entry.table, (await Promise.all(ofShards)).reduce((sum, count) => sum + count, 0)] as const
  })
  return Object.fromEntries(await Promise.all(tables))
}

const taken = { code: 'DUPLICATE_KEY', index: 'by_owner' }

test.each(['put', 'insert'] as const)(
  '%s without an id that is refused for a local claim deletes its far rows and far claims',
  async (call) => {
    const owner = store.newId()
    await store.put({ owner })
    await expect(store[call]({ owner, mail: 'ada', name: 'ada' })).rejects.toMatchObject(taken)
    expect(await counts()).toEqual({
      index_by_owner: 1,
      claims_by_owner: 1,
      index_by_mail: 0,
      claims_by_mail: 0,
      index_by_name: 0,
    })
    expect(await store.count(byName, { name: 'ada' }, { exact: false })).toBe(0)
  },
)

test('a batch that is refused for a local claim deletes the far rows and far claims of fresh entities', async () => {
  const owner = store.newId()
  await store.put({ owner })
  const batch = store.batch([{ insert: { owner, mail: 'ada', name: 'ada' } }, { insert: { name: 'eve' } }])
  await expect(batch).rejects.toMatchObject({ ...taken, item: 0 })
  expect(await counts()).toMatchObject({ index_by_mail: 0, claims_by_mail: 0, index_by_name: 0 })
})

test.each(['put', 'batch'] as const)(
  'a %s that is undone, begins again and is refused deletes the far rows and far claims of fresh entities',
  async (call) => {
    const owner = store.newId()
    let isUndone = false
    const other = await openOn(
      faultyDriver(memory, ({ table, operation }) => {
        if (table !== 'entities' || isUndone || !/^(insert|writeAll)$/.test(operation)) return undefined
        isUndone = true
        return {
          async before() {
            await store.put({ owner })
            throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
          },
        }
      }),
    )
    const bag = { owner, mail: 'ada', name: 'ada' }
    const writing = call === 'put' ? other.put(bag) : other.batch([{ insert: bag }])
    await expect(writing).rejects.toMatchObject(taken)
    await other.close()
    expect(isUndone).toBe(true)
    expect(await counts()).toMatchObject({ index_by_mail: 0, claims_by_mail: 0, index_by_name: 0 })
  },
)

test('a put with an id that is refused leaves its far rows, on which another write of the entity may rely', async () => {
  const owner = store.newId()
  await store.put({ owner })
  const { id } = await store.put({ mail: 'ada' })
  await expect(store.put({ owner, mail: 'ada', name: 'ada' }, { id })).rejects.toMatchObject(taken)
  expect(await counts()).toMatchObject({ index_by_name: 1, claims_by_mail: 1 })
  expect(await store.count(byName, { name: 'ada' }, { exact: true })).toBe(0)
})

test('an update may return a bag with the id of its entity, and is refused with another id', async () => {
  const { id } = await store.insert({ n: 1 })
  await store.update(id, () => ({ id, n: 2 }))
  const other = store.newId()
  await expect(store.update(id, () => ({ id: other, n: 3 }))).rejects.toMatchObject({
    code: 'BAD_ID',
    entity: id,
  })
  expect(await store.get(id)).toEqual({ id, n: 2 })
})
