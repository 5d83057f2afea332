import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { shardOfRow, tableSpec, toKeyValue } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultPlan, withoutPauses } from '@looseleaf/testkit'
import {
  checkIndex,
  cleanIndex,
  DataStore,
  defineIndex,
  metaOf,
  parseId,
  type Bag,
  type DriverFactory,
  type Entity,
  type EntityId,
} from 'looseleaf'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const userIdIndex = defineIndex('user_id', { properties: { user_id: 'uuid' }, shardOn: 'user_id' })
const linkIndex = defineIndex('link', { properties: { link: 'string' }, shardOn: 'link' })

const WRITERS = 8
const ENTRIES = 300

/**
 * Executes the article "How FriendFeed uses MySQL to store schema-less data": its steps in its order, with its guarantees, or
 * stronger ones where Looseleaf gives them. Each test continues from the state of the one before.
 */
export function describeArticle(database: string, openShards: () => Promise<DriverFactory>): void {
  describe(`the article, executed on ${database}`, () => {
    let shards: DriverFactory
    let store: DataStore

    beforeAll(async () => {
      shards = await openShards()
      store = await DataStore.open({
        shards,
        queryTimeMs: 1_000,
        indexes: [userIdIndex],
        migrate: true,
        onWarning: () => undefined,
      })
    })
    afterAll(() => store?.close())

    test('every shard has the table entities: added_id, id, updated and body', () => {
      expect(store.context.driver.shards).toHaveLength(2)
      for (const shard of store.context.driver.shards) {
        const statement = shard.schema([]).find((sql) => /^CREATE TABLE.*\bentities\b/.test(sql))
        for (const column of ['added_id', 'id', 'updated', 'body']) {
          expect(statement).toMatch(new RegExp(`[\`"]${column}[\`"] `))
        }
      }
    })

    const userId = randomUUID()
    let firstId: EntityId

    test('a property needs no column: get returns all properties of the stored bag', async () => {
      const bag = {
        user_id: userId,
        feed_id: randomUUID(),
        title: 'We just launched our new storage',
        link: 'http://example.com/launch',
        published: new Date('2009-02-27T01:10:46Z'),
      }
      const { id, created } = await store.put(bag)
      expect(created).toBe(true)
      expect(await store.get(id)).toEqual({ id, ...bag })
      firstId = id
    })

    test('the index on user_id is a table of its own on every shard: user_id and entity_id', () => {
      const spec = tableSpec(entryOf(store, 'user_id'))
      for (const shard of store.context.driver.shards) {
        const statement = shard.schema([spec]).find((sql) => /^CREATE TABLE.*\bindex_user_id\b/.test(sql))
        expect(statement).toMatch(/PRIMARY KEY \([`"]user_id[`"], [`"]entity_id[`"]\)/)
      }
    })

    test('getAll returns the entities of a user from all shards', async () => {
      const others = Array.from({ length: 4 }, () => randomUUID())
      const results = await store.putMany(
        Array.from({ length: ENTRIES }, (_, i) => entry(i, [userId, ...others][i % 5] as string)),
      )
      const { shardOfId } = store.context.router
      expect(new Set(results.map(({ id }) => shardOfId(parseId(id))))).toEqual(new Set([0, 1]))

      const all = await userIdIndex.getAll(store, { user_id: userId })
      expect(all.map(({ id }) => id)).toContain(firstId)
      expect(all).toHaveLength(ENTRIES / 5 + 1)
      expect(idsOf(all)).toEqual(
        idsOf((await scanAll(store)).filter((entity) => entity['user_id'] === userId)),
      )
    })

    test('an index that is added and filled during writes equals a full scan', async () => {
      const ids = idsOf(await scanAll(store)).filter((id) => id !== firstId)
      const writing = new AbortController()
      const waiting: (() => void)[] = []
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; !writing.signal.aborted; i++) {
          // New entities, changed ones, and sometimes one that is deleted and later written again.
          const id = ids[(i * WRITERS + writer) % ids.length] as EntityId
          if (i % 3 === 0) await store.put(entry(i, userId))
          else if (i % 7 === 0) await store.delete(id)
          else await store.put(entry(i + writer, userId), { id })
          for (const resolve of waiting.splice(0)) resolve()
          // Cleans wait longer than they work, and the next tests scan all that was written meanwhile.
          await pause(10)
        }
      }
      const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
      const nextWrite = async (): Promise<void> => {
        // `writers` settles before the abort only if a writer fails.
        await Promise.race([writers, new Promise<void>((resolve) => waiting.push(resolve))])
      }
      try {
        await nextWrite()
        await store.addIndex(linkIndex)
        await nextWrite()
        // A query before the end of the filling is refused instead of being incomplete.
        await expect(store.query(linkIndex, { link: linkOf(1) })).rejects.toMatchObject({
          code: 'INDEX_NOT_READY',
        })
        await cleanIndex(store, 'link')
        await nextWrite()
      } finally {
        writing.abort()
        await writers
      }
      await store.settled()
      await expectEqualsScan(store)
    })

    test('a stale row is discarded by queries and deleted by the cleaner', async () => {
      const entity = await store.get(firstId)
      if (entity === undefined) throw new Error('the first entity was deleted')
      const link = 'http://example.com/never-was'
      const index = entryOf(store, 'link')
      const key = [keyOf(link)]
      const entityId = parseId(firstId)
      const shard =
        store.context.driver.shards[
          shardOfRow(index, store.context.catalog.current().placement, key, entityId)
        ]
      const table = shard?.index(tableSpec(index))
      await table?.upsert([{ key, entityId, version: metaOf(entity)?.version ?? 0 }])
      expect(await table?.count({ prefix: key })).toBe(1)

      const page = await store.query(linkIndex, { link })
      expect(page.items).toEqual([])
      expect(page.cost).toMatchObject({ rowsExamined: 1, rowsMatched: 0, rowsDiscarded: 1 })

      await cleanIndex(store, 'link')
      expect(await table?.count({ prefix: key })).toBe(0)
      await expectEqualsScan(store)
    })

    // A write upserts into two index tables, commits, and deletes from two index tables. Local rows are part of the commit.
    describe.each([
      { step: 'create', writes: 3 },
      { step: 'change', writes: 5 },
      { step: 'delete', writes: 3 },
    ] as const)('a process that dies during a $step', ({ step, writes }) => {
      test('queries neither miss entities nor return wrong ones after a process died at any step', async () => {
        for (let write = 0; write <= writes; write++) {
          for (const side of ['before', 'after'] as const) {
            const old = entry(1, randomUUID())
            const fresh = entry(2, randomUUID())
            const id = step === 'create' ? store.newId() : (await store.put(old)).id
            const crashed = await runUntilCrash(shards, { write, side }, async (other) => {
              await (step === 'delete' ? other.delete(id) : other.put(fresh, { id }))
            })
            if (write === 0 || write === writes) expect(crashed).toBe(write === 0)
            await expectWhole(
              store,
              id,
              step === 'create' ? [fresh] : step === 'delete' ? [old] : [old, fresh],
            )
          }
        }
      })
    })

    test('the cleaner deletes the rows that dead processes left', async () => {
      for (const name of ['user_id', 'link']) {
        expect(await checkIndex(store, name)).toMatchObject({ missing: 0 })
        // No other process writes, so young rows need no grace time.
        await cleanIndex(store, name, { graceMs: 0 })
        expect(await checkIndex(store, name)).toMatchObject({ missing: 0, dangling: 0, misplaced: 0 })
      }
      await expectEqualsScan(store)
    })
  })
}

function linkOf(number: number): string {
  return `http://example.com/${number % 17}`
}

function entry(number: number, userId: string): Bag {
  return {
    user_id: userId,
    feed_id: userId,
    title: `Entry ${number}`,
    link: linkOf(number),
    published: new Date(Date.UTC(2009, 1, 27, 0, 0, number)),
  }
}

/** Crash point of a process: before or after this write to any shard, counted from 0. */
interface Moment {
  readonly write: number
  readonly side: 'before' | 'after'
}

const WRITES: readonly string[] = ['insert', 'replace', 'upsert', 'remove']

/** Runs `work` with a store of its own until its end or its crash. Returns true after a crash. */
async function runUntilCrash(
  shards: DriverFactory,
  { write, side }: Moment,
  work: (store: DataStore) => Promise<void>,
): Promise<boolean> {
  let writes = 0
  const plan: FaultPlan = ({ operation }) =>
    WRITES.includes(operation) && writes++ === write ? { crash: side } : undefined
  const healthy = await shards.connect()
  const dying = faultyDriver(healthy, plan)
  const store = await DataStore.open({
    shards: { shardCount: 2, connect: async () => dying },
    time: withoutPauses,
  })
  const ended = work(store).then(() => store.settled())
  const died = await Promise.race([ended.then(() => false), dying.crashed.then(() => true)])
  await healthy.close()
  return died
}

/** Expects the entity to equal one of these bags or to be missing, and both indexes to agree. */
async function expectWhole(store: DataStore, id: EntityId, bags: readonly Bag[]): Promise<void> {
  const entity = await store.get(id)
  expect(bags.map((bag) => ({ id, ...bag }))).toEqual(
    expect.arrayContaining(entity === undefined ? [] : [entity]),
  )
  for (const bag of bags) {
    const isStored = entity?.['user_id'] === bag['user_id']
    const byUser = await userIdIndex.getAll(store, { user_id: bag['user_id'] as string })
    expect(idsOf(byUser)).toEqual(isStored ? [id] : [])
    const byLink = await linkIndex.getAll(store, { link: bag['link'] as string })
    expect(byLink.some((found) => found.id === id)).toBe(isStored)
  }
}

async function expectEqualsScan(store: DataStore): Promise<void> {
  const entities = await scanAll(store)
  const byLink = Map.groupBy(entities, (entity) => entity['link'] as string)
  expect(byLink.size).toBeGreaterThan(10)
  for (const [link, expected] of byLink)
    expect(idsOf(await linkIndex.getAll(store, { link }))).toEqual(idsOf(expected))
  const byUser = Map.groupBy(entities, (entity) => entity['user_id'] as string)
  for (const [user_id, expected] of byUser) {
    expect(idsOf(await userIdIndex.getAll(store, { user_id }))).toEqual(idsOf(expected))
  }
}

async function scanAll(store: DataStore): Promise<Entity[]> {
  const entities: Entity[] = []
  for await (const entity of store.scan()) entities.push(entity)
  return entities
}

function idsOf(entities: readonly { readonly id: EntityId }[]): EntityId[] {
  return entities.map(({ id }) => id).toSorted()
}

function entryOf(store: DataStore, name: string): CatalogEntry {
  const found = store.context.catalog.current().indexes.find((index) => index.name === name)
  if (found === undefined) throw new Error(`there is no index ${name}`)
  return found
}

function keyOf(link: string): Uint8Array {
  const result = toKeyValue('string', link)
  if (!('value' in result) || !(result.value instanceof Uint8Array)) throw new Error('a string has bytes')
  return result.value
}
