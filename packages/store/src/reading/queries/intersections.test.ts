import { LooseleafError, type Driver, type EntityId, type ErrorCode } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type IndexProperties } from '@looseleaf/index-engine'
import type { IndexConditions } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, withoutPauses, type FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { DataStoreOptions } from '../../types.ts'

const byTag = defineIndex('by_tag', {
  properties: { tags: 'string[]', published: { type: 'integer', order: 'desc' } },
  shardOn: 'tags',
})
const byUser = defineIndex('by_user', {
  properties: { user: 'string', published: { type: 'integer', order: 'desc' } },
  shardOn: 'id',
})
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
const opened: DataStore[] = []

async function open(
  options: Partial<DataStoreOptions> = {},
  plan: FaultPlan = () => undefined,
): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(faultyDriver(memory, plan)),
    indexes: [byTag, byUser, byName],
    ...options,
  })
  opened.push(store)
  return store
}

beforeEach(async () => {
  memory = await memoryShards(3).connect()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await memory.close()
})

const aAndB = [
  { index: byTag, where: { tags: 'a' } },
  { index: byTag, where: { tags: 'b' } },
] as const
describe('an intersection', () => {
  it('an intersection pages through entities that match all conditions, forward and backward, over all shards', async () => {
    const store = await open({ migrate: true })
    for (let published = 0; published < 60; published++) {
      const tags = ['a', 'b', 'c'].filter((_, i) => published % (i + 2) === 0)
      await store.put({ tags, published, user: published % 4 === 0 ? 'x' : 'y' })
    }
    const conditions = [...aAndB, { index: byUser, where: { user: 'x', published: { gte: 12 } } }] as const
    const expected = [48, 36, 24, 12]
    const pages = []
    let cursor: string | undefined
    do {
      const page = await store.intersect(conditions, { limit: 3, scatter: true, cursor })
      pages.push(page)
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(pages.map(({ items }) => items.map(({ published }) => published))).toEqual([
      expected.slice(0, 3),
      expected.slice(3),
    ])
    const back = await store.intersect(conditions, { limit: 3, scatter: true, cursor: pages[1]?.previous })
    expect(back.items).toEqual(pages[0]?.items)
    const up = await store.intersect(conditions, { order: 'desc', scatter: true })
    expect(up.items.map(({ published }) => published)).toEqual(expected.toReversed())
    expect(up.cost).toMatchObject({ complete: true, rowsExamined: 4, rowsDiscarded: 0 })
  })

  it('an intersection checks each entity against all conditions, so lost rows add none', async () => {
    const store = await open({ migrate: true, queryTimeMs: 60_000 })
    const { id } = await store.put({ tags: ['a', 'b'], published: 1 })
    await store.put({ tags: ['a', 'c'], published: 1 }, { id })
    const { items, cost } = await store.intersect(aAndB)
    expect(items).toEqual([])
    // The lost row of the tag stays for a while.
    expect(cost).toMatchObject({ rowsExamined: 1, rowsDiscarded: 1 })
  })

  it('an intersection finds an entity that moves before the second index is read', async () => {
    const writer = await open({ migrate: true, queryTimeMs: 60_000 })
    const { id } = await writer.put({ tags: ['a', 'b'], published: 1 })
    const reached = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    let scans = 0
    const reader = await open({}, ({ table, operation }) => {
      if (table !== 'index_by_tag' || operation !== 'scan' || ++scans !== 2) return undefined
      return {
        before() {
          reached.resolve()
          return goesOn.promise
        },
      }
    })
    const reading = reader.intersect(aAndB)
    await reached.promise
    await writer.put({ tags: ['a', 'b'], published: 9 }, { id })
    await writer.put({ tags: ['b', 'a'], published: 0 }, { id })
    goesOn.resolve()
    const { items, cost } = await reading
    expect(items.map((item) => item.id)).toEqual<EntityId[]>([id])
    expect(cost.complete).toBe(true)
  })

  it('an intersection is incomplete while rows of one of its indexes are pending', async () => {
    await open({ migrate: true })
    const writer = await open({ onIndexFailure: 'defer', time: withoutPauses }, (call) =>
      upsertsRows(call, 'index_by_user')
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined,
    )
    await writer.put({ tags: ['a', 'b'], published: 1, user: 'x' })
    const reader = await open()
    expect((await reader.intersect(aAndB)).cost.complete).toBe(true)
    const withUser = [...aAndB, { index: byUser, where: { user: 'x' } }] as const
    expect((await reader.intersect(withUser, { scatter: true })).cost.complete).toBe(false)
  })

  it('an intersection that takes longer than queryTimeMs is incomplete', async () => {
    const store = await open({ migrate: true, queryTimeMs: 1 }, ({ operation }) =>
      operation === 'scan' ? { before: () => new Promise((resolve) => setTimeout(resolve, 10)) } : undefined,
    )
    expect((await store.intersect(aAndB)).cost.complete).toBe(false)
  })

  it('an intersection rejects with INDEX_NOT_READY and INDEX_NOT_FOUND', async () => {
    const store = await open({ migrate: true })
    await store.put({ tags: ['a'], published: 1 })
    const late = defineIndex('late', {
      properties: { user: 'string', published: { type: 'integer', order: 'desc' } },
      shardOn: 'user',
    })
    const conditions = [aAndB[0], { index: late, where: { user: 'x' } }] as const
    await expect(store.intersect(conditions)).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
    await store.addIndex(late)
    await expect(store.intersect(conditions)).rejects.toEqual(withCode('INDEX_NOT_READY'))
  })

  it('an intersection reads the catalog again if the table of an index is missing', async () => {
    const reader = await open({ migrate: true, indexes: [byTag, byUser] })
    const admin = await open()
    await reader.intersect(aAndB)
    await admin.dropIndex(byUser)
    const conditions = [aAndB[0], { index: byUser, where: { user: 'x' } }] as const
    await expect(reader.intersect(conditions, { scatter: true })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
    expect((await reader.intersect(aAndB)).items).toEqual([])
  })
})

describe('invalid intersections', () => {
  it.each<[string, unknown, object, ErrorCode, RegExp]>([
    [
      'no array',
      { index: byTag, where: {} },
      {},
      'BAD_OPTION',
      /intersect takes an array of 1 to 8 conditions/,
    ],
    ['no condition', [], {}, 'BAD_OPTION', /intersect takes 1 to 8 conditions; got 0/],
    [
      'an option among the conditions',
      [{ ...aAndB[0], order: 'desc' }, aAndB[1]],
      {},
      'BAD_OPTION',
      /condition of intersect is { index, where }, and has no "order"/,
    ],
    ['too many', Array.from({ length: 9 }, () => aAndB[0]), {}, 'BAD_OPTION', /1 to 8 conditions; got 9/],
    ['a hole', [aAndB[0], undefined], {}, 'BAD_OPTION', /each { index, where }; got /],
    ['no index', [{ where: {} }], {}, 'BAD_INDEX', /intersect takes an index as defineIndex gives it/],
    ['no where', [{ index: byTag }], {}, 'BAD_QUERY', /Index by_tag needs an object of properties/],
    ['an option that is none', aAndB, { scater: true }, 'BAD_OPTION', /scater/],
    [
      'orders that differ',
      [aAndB[0], { index: byName, where: { name: 'x' } }],
      {},
      'BAD_QUERY',
      /Indexes by_tag and by_name cannot be read together/,
    ],
    ['the cursor of a query', aAndB, { cursor: 'x' }, 'BAD_CURSOR', /cursor for index by_tag and by_tag/],
  ])('an intersection is rejected: %s', async (_, conditions, options, code, message) => {
    const store = await open({ migrate: true })
    const call = store.intersect(conditions as IndexConditions<readonly IndexProperties[]>, options)
    await expect(call).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })
})
