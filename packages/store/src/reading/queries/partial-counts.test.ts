import { LooseleafError, type EntityId } from '@looseleaf/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  byRank,
  byUser,
  nameOf,
  numbers,
  openLossyStore,
  shardOf,
  skip,
  throws,
  users,
  type LossyStore,
} from '../../../test/lossy-store.ts'
import type { DataStore } from '../../data-store.ts'

let lossy: LossyStore
let store: DataStore
let lose: LossyStore['lose']
let restore: () => void
let fill: LossyStore['fill']

beforeEach(async () => {
  lossy = await openLossyStore()
  ;({ store, lose, restore, fill } = lossy)
})
afterEach(() => lossy[Symbol.asyncDispose]())

test.each([undefined, true, false])('a count with exact: %s says that it is partial', async (exact) => {
  await fill()
  lose(1)
  const counted = await store.count(byRank, {}, { scatter: true, exact, ...skip })
  expect(counted).toEqual({ count: 6, complete: false, missingShards: [nameOf(1)] })
  const many = await store.countMany(
    byUser,
    users.map((user) => ({ user })),
    { exact, ...skip },
  )
  const whole = exact === false
  const own = { count: whole ? 3 : 2, complete: whole, missingShards: whole ? [] : [nameOf(1)] }
  expect(many).toEqual([own, { count: 0, complete: false, missingShards: [nameOf(1)] }, own])
  restore()
  const all = await store.count(byRank, {}, { scatter: true, exact, ...skip })
  expect(all).toEqual({ count: 9, complete: true, missingShards: [] })
  expect(await store.count(byRank, {}, { scatter: true, exact })).toBe(9)
})

test('a count that needs more than one range leaves out a missing shard', async () => {
  await fill()
  lose(1)
  const where = { user: { in: users } }
  const { count, complete } = await store.count(byUser, where, { exact: false, ...skip })
  expect([count, complete]).toEqual([6, false])
})

describe('a shard that answers one of the two statements of a count', () => {
  const count = (): unknown => store.count(byRank, {}, { scatter: true, exact: false, ...skip })
  const failOnly = (operation: string): void =>
    lossy.fail((call) =>
      call.shard === 1 && call.operation === operation
        ? throws(new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard: nameOf(1) }))
        : undefined,
    )
  /** Adds so many rows to shard 0 that its count is not short. */
  const addMany = async (): Promise<void> => {
    const ids: EntityId[] = []
    while (ids.length < 101) {
      const id = store.newId()
      if (shardOf(id) === 0) ids.push(id)
    }
    await Promise.all(ids.map((id) => store.put({ n: 0 }, { id })))
  }

  test('a short count leaves out a shard that does not answer it', async () => {
    await fill()
    failOnly('countShort')
    expect(await count()).toEqual({ count: 6, complete: false, missingShards: [nameOf(1)] })
  })

  test('a longer count has a shard that answers it, though not the short count before', async () => {
    await fill()
    await addMany()
    failOnly('countShort')
    expect(await count()).toEqual({ count: 110, complete: true, missingShards: [] })
  })

  test('a longer count leaves out a shard that answered the short count before alone', async () => {
    await fill()
    await addMany()
    failOnly('count')
    expect(await count()).toEqual({ count: 107, complete: false, missingShards: [nameOf(1)] })
  })
})

test('each page of queryMany says which shards it lacks, and so does its count', async () => {
  await fill()
  lose(1)
  const wheres = users.map((user) => ({ user }))
  const pages = await store.queryMany(byUser, wheres, { limit: 1, count: true, ...skip })
  expect(pages.map(({ items }) => numbers(items))).toEqual([[0], [], [6]])
  expect(pages.map(({ count }) => count)).toEqual([2, 0, 2])
  for (const { cost } of pages) expect(cost).toMatchObject({ complete: false, missingShards: [nameOf(1)] })
  restore()
  for (const { cost } of await store.queryMany(byUser, wheres, { count: true, ...skip }))
    expect(cost.complete).toBe(true)
})
