import { parseId, type Bag, type Router } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type NearKey } from '@looseleaf/index-engine'
import { deriveRows, shardOfRow } from '@looseleaf/index-engine/internal'
import { bucketOfId, bucketRouter, deriveId, moduloRouter } from '@looseleaf/router'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const SHARDS = 5
const opened: DataStore[] = []
async function openStore(router: Router = bucketRouter({ shards: SHARDS })): Promise<DataStore> {
  const store = await DataStore.open({ shards: memoryShards(SHARDS), router, indexes: [], migrate: true })
  opened.push(store)
  return store
}
afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())))

/** Returns the shard of the row that an index with this property as its `shardOn` has for a value. */
function shardOfValue(store: DataStore, type: string, value: unknown): number {
  const index = defineIndex('a', { properties: { p: type as 'string' }, shardOn: 'p' })
  const [key] = deriveRows(index, { p: value } as Bag).keys
  return shardOfRow(index, store.context.catalog.current().placement, key!, new Uint8Array(16))
}

const shardOfEntity = (store: DataStore, id: string): number =>
  store.context.catalog.current().placement.shardOfId(parseId(id))

const values: readonly (readonly [string, unknown])[] = [
  ...Array.from({ length: 20 }, (_, i) => ['string', `tenant ${i}`] as const),
  ['string', 'x'.repeat(600)],
  ['integer', 42],
  ['integer', 2n ** 62n],
  ['number', 1.5],
  ['boolean', true],
  ['time', new Date(1)],
  ['uuid', '0192f0c1-7c1e-7abc-8def-0123456789ab'],
]

describe('ids near a key', () => {
  it.each([
    ['bucketRouter', () => bucketRouter({ shards: SHARDS })],
    ['moduloRouter', () => moduloRouter({ shards: SHARDS })],
  ])('with %s an id near a key is on the shard of the index rows of that key', async (_, router) => {
    const store = await openStore(router())
    for (const [type, value] of values) {
      const near = { [type]: value } as unknown as NearKey
      const { id } = await store.insert({ n: 1 }, { near })
      const ids = [store.newId({ near }), id, (await store.put({ n: 1 }, { near })).id]
      const shard = shardOfValue(store, type, value)
      expect(ids.map((each) => shardOfEntity(store, each))).toEqual([shard, shard, shard])
      expect(new Set(ids).size).toBe(3)
    }
  })

  it('a derived id near any id of a key has the bucket of the key, and is always the same', async () => {
    const store = await openStore()
    const near: NearKey = { string: 'acme' }
    const derive = (): string => deriveId('invoice', 7, { near: store.newId({ near }) })
    expect(derive()).toBe(derive())
    expect(bucketOfId(parseId(derive()))).toBe(bucketOfId(parseId(store.newId({ near }))))
  })

  it('an insert near an id makes a fresh id in its bucket, and asks for no entity under it', async () => {
    const store = await openStore()
    const user = store.newId()
    const statements = await store.trace(async (trace) => {
      const { id } = await store.insert({ n: 1 }, { near: user })
      expect(bucketOfId(parseId(id))).toBe(bucketOfId(parseId(user)))
      return trace.statements.map(({ operation }) => operation)
    })
    expect(statements).toEqual(['INSERT'])
  })

  it('a near beside an id is refused, and nothing is written', async () => {
    const store = await openStore()
    const [id, near] = [store.newId(), store.newId()]
    for (const call of [
      () => store.insert({ n: 1 }, { id, near }),
      () => store.put({ n: 1 }, { id, near }),
      () => store.insert({ id, n: 1 }, { near }),
    ])
      await expect(call()).rejects.toThrow(/near is for a fresh id/)
    expect(await store.get(id)).toBeUndefined()
  })

  it('a near that is neither an id nor a key is refused, and its value is not in the message', async () => {
    const store = await openStore()
    expect(() => store.newId({ near: 'secret' })).toThrow(withCode('BAD_ID'))
    expect(() => store.newId({ near: { string: 7 } as never })).toThrow(withCode('BAD_OPTION'))
    await expect(store.insert({ n: 1 }, { near: 'secret' })).rejects.toThrow(
      expect.objectContaining({ code: 'BAD_ID', message: expect.not.stringContaining('secret') }),
    )
  })

  it('a router without newIdNearKey makes ids near ids alone', async () => {
    const store = await openStore({ ...bucketRouter({ shards: SHARDS }), newIdNearKey: undefined })
    expect(() => store.newId({ near: { string: 'acme' } })).toThrow(withCode('BAD_OPTION'))
    const user = store.newId()
    expect(shardOfEntity(store, store.newId({ near: { uuid: user } }))).toBe(shardOfEntity(store, user))
  })
})
