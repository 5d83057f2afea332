import { runInNewContext } from 'node:vm'
import type { Bag } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from './data-store.ts'

const byTime = defineIndex('by_time', { properties: { user: 'string', at: 'time' }, shardOn: 'user' })

/** Makes a value in another realm, with other `Date`, `Uint8Array` and `Error` classes, as in Jest. */
const other = <T>(source: string): T => runInNewContext(source) as T
const at = other<Date>('new Date(86_400_000 + 5)')

let store: DataStore
beforeEach(async () => {
  store = await DataStore.open({ shards: memoryShards(2), indexes: [byTime], migrate: true })
  await store.put({ user: 'ann', at })
  await store.put({ user: 'ann', at: new Date(0) })
})
afterEach(() => store.close())

test('a Date of another realm is stored, indexed and accepted in conditions', async () => {
  expect(at instanceof Date).toBe(false)
  const here = new Date(86_400_005)
  for (const where of [
    { user: 'ann', at },
    { user: 'ann', at: { gte: at } },
    { user: 'ann', at: { in: [at] } },
  ]) {
    const { items } = await store.query(byTime, where)
    expect(items.map((one) => one['at'])).toEqual([here])
    expect(await store.count(byTime, where)).toBe(1)
  }
})

test('bags and conditions that are objects of another realm are accepted', async () => {
  const { id } = await store.put(
    other<Bag>('({ user: "eve", nested: { a: [1] }, bytes: new Uint8Array([1]) })'),
  )
  expect(await store.get(id)).toEqual({ id, user: 'eve', nested: { a: [1] }, bytes: new Uint8Array([1]) })
  expect(await store.count(byTime, other('({ user: "ann", at: { gte: new Date(0) } })'))).toBe(2)
})

test('an update rethrows an error of another realm unchanged', async () => {
  const { id } = await store.put({ user: 'eve' })
  const error = other<Error>('new TypeError("mine")')
  await expect(
    store.update(id, () => {
      throw error
    }),
  ).rejects.toBe(error)
  expect((await store.putMany([{ user: 'eve', at }])).length).toBe(1)
})
