import { metaOf, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, withoutPauses } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

/** Claims of entities near their group stand on the shard of the entity. */
const bySeat = defineIndex('by_seat', {
  properties: { group: 'uuid', seat: 'integer' },
  shardOn: 'group',
  unique: true,
})
/** Claims stand on any shard. */
const byMail = defineIndex('by_mail', { properties: { mail: 'integer' }, shardOn: 'mail', unique: true })

let memory: Driver
let store: DataStore
/** A store of another process. */
let rival: DataStore
/** Runs before the next statement of `store` that takes a claim or commits. */
let meanwhile: (() => Promise<void>) | undefined
let group: EntityId
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  meanwhile = undefined
  const driver = faultyDriver(memory, ({ table, operation }) => {
    const isWrite = table.startsWith('claims') || operation === 'writeAll' || operation === 'replace'
    if (!isWrite || meanwhile === undefined) return undefined
    const before = meanwhile
    meanwhile = undefined
    return { before }
  })
  const options = { indexes: [bySeat, byMail], migrate: true, time: withoutPauses }
  store = await DataStore.open({ shards: keepOpen(driver), ...options })
  rival = await DataStore.open({ shards: keepOpen(memory), ...options })
  group = store.newId()
  a = await seated(1)
  b = await seated(2)
})
afterEach(async () => {
  await Promise.all([store.close(), rival.close()])
  await memory.close()
})

const seated = async (seat: number): Promise<EntityId> =>
  (await store.insert({ group, seat, mail: seat }, { near: group })).id
const seatOf = async (id: EntityId): Promise<unknown> => (await store.get(id))?.['seat']
const versionOf = async (id: EntityId): Promise<number> => metaOf((await rival.get(id))!)!.version
const set = (id: EntityId, change: Bag) => ({ update: id, edit: (bag: Bag) => ({ ...bag, ...change }) })
const next = (name: string) => (bag: Bag) => ({ ...bag, [name]: Number(bag[name]) + 1 })

/** Another process moves `a` away from its key, and gives the key that is next to the old one to `b`. */
const shift = (name: string) => async (): Promise<void> => {
  await rival.update(a, (bag) => ({ ...bag, [name]: 7 }))
  await rival.update(b, (bag) => ({ ...bag, [name]: 2 }))
}

test.each(['seat', 'mail'])(
  'an update whose %s was taken after another write of its entity starts again',
  async (name) => {
    await store.update(b, (bag) => ({ ...bag, [name]: 5 }))
    meanwhile = shift(name)
    await store.update(a, next(name))
    expect((await store.get(a))?.[name]).toBe(8)
  },
)

test.each(['seat', 'mail'])(
  'a batch whose %s was taken after another write of its entity starts again',
  async (name) => {
    await store.update(b, (bag) => ({ ...bag, [name]: 5 }))
    meanwhile = shift(name)
    await store.batch([{ update: a, edit: next(name) }, { insert: { group } }])
    expect((await store.get(a))?.[name]).toBe(8)
  },
)

test('a batch at versions that an exchange of keys has replaced is VERSION_MISMATCH, and not DUPLICATE_KEY', async () => {
  const c = await seated(3)
  const at = { a: await versionOf(a), c: await versionOf(c) }
  meanwhile = async () => void (await rival.batch([set(a, { seat: 2 }), set(b, { seat: 1 })]))
  const exchange = store.batch([
    { ...set(a, { seat: 3 }), ifVersion: at.a },
    { ...set(c, { seat: 1 }), ifVersion: at.c },
  ])
  await expect(exchange).rejects.toMatchObject({ code: 'VERSION_MISMATCH', item: 0 })
  expect([await seatOf(a), await seatOf(b), await seatOf(c)]).toEqual([2, 1, 3])
})

test('a key that another entity holds is DUPLICATE_KEY while the entities of the write stay as they are', async () => {
  await expect(store.update(a, next('seat'))).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: b })
  const batch = store.batch([set(a, { mail: 2 })])
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: b, item: 0 })
})
