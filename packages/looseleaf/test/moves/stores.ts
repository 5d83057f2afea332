import { isLooseleafError, metaOf, type Driver, type Entity, type Time } from '@looseleaf/core'
import { bucketsIn } from '@looseleaf/core/internal'
import { checkIndex, sweep } from '@looseleaf/cleaner'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { entitiesIn, shardAt } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { keepOpen } from '@looseleaf/testkit'
import { expect } from 'vitest'

/** One row per entity, mostly on another shard than the entity. */
export const byUser = defineIndex('by_user', {
  properties: { user: 'string', rank: 'integer' },
  shardOn: 'user',
})
/** Many rows per entity. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
/** Rows on the entity's shard. */
export const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
/** Covering. */
export const byGroup = defineIndex('by_group', {
  properties: { group: 'string' },
  shardOn: 'group',
  include: ['title'],
})
export const indexes = [byUser, byTag, byRank, byName, byGroup]

/** Half of the buckets of shard 0 in a store of two shards. */
export const SOME_BUCKETS = '0-1023'

export function openStore(driver: Driver, time?: Time): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(driver), indexes, migrate: true, queryTimeMs: 5_000, time })
}

export interface Item {
  readonly user: string
  readonly rank: number
  readonly tags: string[]
  readonly name: string
  readonly group: string
  readonly title: string
}

export function itemOf(number: number): Item {
  return {
    user: `user ${number % 17}`,
    rank: number % 101,
    tags: [`tag ${number % 7}`, `tag ${number % 11}`, `tag ${number % 13}`],
    name: `name ${number}`,
    group: `group ${number % 5}`,
    title: `title of ${number} ${'x'.repeat(number % 50)}`,
  }
}

/** Puts entities, updates some, and deletes some, so that there are tombstones and rows with several stamps. */
export async function fill(store: DataStore, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, number) => number)
  const entities = await store.putMany(numbers.map((number) => ({ ...itemOf(number) })))
  const some = (share: number): typeof entities => entities.filter((_, i) => i % share === 0)
  await Promise.all(some(9).map(({ id }) => store.update(id, (bag) => ({ ...bag, rank: 500 }))))
  await Promise.all(some(10).map(({ id }) => store.delete(id)))
}

/**
 * Opens a store with a time whose waits end at once, and this many entities. Rows that updates have lost are deleted before, so that every row
 * belongs to an entity.
 */
export async function filledStore(
  driver: Driver,
  count: number,
  time: Time = leapingTime(),
): Promise<DataStore> {
  const store = await openStore(driver, leapingTime())
  await fill(store, count)
  await store.close()
  return openStore(driver, time)
}

/** A time whose sleeps advance it some turns later, so that work that does not wait for a sleep is done before. */
export function lateSleeps(time: Time): Time {
  return {
    ...time,
    async sleep(milliseconds, signal) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      await time.sleep(milliseconds, signal)
    },
  }
}

/** Returns the version and the bag of an entity. */
export function stateOf(entity: Entity): string {
  const { id: _, ...bag } = entity
  return JSON.stringify([metaOf(entity)!.version, bag])
}

/** Returns every living entity by id, as the tables of all shards tell, with the number of the shard. */
export async function contentsOf(store: DataStore): Promise<ReadonlyMap<string, string>> {
  const entities = new Map<string, string>()
  for await (const entity of store.scan()) {
    expect(entities.has(entity.id)).toBe(false)
    entities.set(entity.id, stateOf(entity))
  }
  return entities
}

/** Asks every index, and compares the answers with the entities. */
export async function checkQueries(store: DataStore): Promise<void> {
  const all: (Item & { id: string })[] = []
  for await (const entity of store.scan()) all.push(entity as unknown as Item & { id: string })
  const idsWhere = (holds: (item: Item) => boolean): string[] =>
    all
      .filter(holds)
      .map(({ id }) => id)
      .toSorted()
  const answers: [() => Promise<readonly { readonly id: string }[]>, (item: Item) => boolean][] = []
  for (const n of [0, 4, 16])
    answers.push([() => byUser.getAll(store, { user: `user ${n}` }), ({ user }) => user === `user ${n}`])
  for (const n of [0, 5, 12])
    answers.push([() => byTag.getAll(store, { tags: `tag ${n}` }), ({ tags }) => tags.includes(`tag ${n}`)])
  for (const n of [3, 500])
    answers.push([() => byRank.getAll(store, { rank: n }, { scatter: true }), ({ rank }) => rank === n])
  for (const n of [1, 2])
    answers.push([
      () => byGroup.getAll(store, { group: `group ${n}` }),
      ({ group }) => group === `group ${n}`,
    ])
  for (const n of [1, 2, 11, 20, 33])
    answers.push([() => byName.getAll(store, { name: `name ${n}` }), ({ name }) => name === `name ${n}`])
  for (const [answer, holds] of answers)
    expect((await answerInTime(answer)).map(({ id }) => id).toSorted()).toEqual(idsWhere(holds))
}

/** Asks again while an answer takes longer than `queryTimeMs`, which lasts a fraction of a second in tests with a fast time. */
async function answerInTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++)
    try {
      return await ask()
    } catch (error) {
      if (!isLooseleafError(error) || error.code !== 'DEADLINE' || tries === 20) throw error
    }
}

/** Compares every one of these indexes with all entities in both directions, by the check of the cleaner. */
export async function checkIndexes(
  store: DataStore,
  checked: readonly { readonly name: string }[] = indexes,
): Promise<void> {
  for (const { name } of checked)
    expect(await checkIndex(store, name)).toMatchObject({
      missing: 0,
      unclaimed: 0,
      dangling: 0,
      misplaced: 0,
      unsettled: 0,
    })
}

/**
 * Checks a store after a move of `SOME_BUCKETS` from shard 0 beside writes. A write that did not know the end of the move has written rows at
 * the source before its commit was refused, and a cleaner deletes them.
 */
export async function checkSwept(store: DataStore): Promise<void> {
  await checkQueries(store)
  await sweep(store, { graceMs: 0 })
  expect(await rowsAt(store, 0, SOME_BUCKETS)).toBe(0)
  await checkIndexes(store)
}

/** Counts the entities, tombstones, index rows and claims of these buckets on a shard. */
export async function rowsAt(store: DataStore, number: number, buckets: string): Promise<number> {
  const { context } = store
  const shard = shardAt(context, number)
  const isIn = entitiesIn(context, buckets)
  const some = new Set(bucketsIn(buckets))
  const page = await shard.entities.pageByAdded(0, 100_000, { maxBody: 0 })
  let count = page.filter(({ id }) => isIn(id)).length
  for (const entry of context.catalog.current().indexes) {
    const rows = await shard.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 100_000 })
    count += rows.filter(({ key, entityId }) =>
      some.has(bucketOfRow(entry, context.router.buckets!, key, entityId)),
    ).length
  }
  return count
}
