import { parseId, type Driver } from '@looseleaf/core'
import type { EntityInsert, IndexRow, LayoutMove, StoreLayout } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import { bucketRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { inspectEntity } from '../reading/inspection/inspect-entity.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

const router = bucketRouter({ shards: 2 })

let memory: Driver
let plan: FaultPlan
let store: DataStore
/** An id, and two values whose buckets move. All of them are on shard 0 before the move. */
let id: string
const [name, mail] = ['ada', 'ada@example.com'].map(movable) as [string, string]

/** Returns a text of this kind whose bucket is on shard 0 of two. */
function movable(text: string): string {
  for (let i = 0; ; i++) if (router.shardOfKey(Buffer.from(`${text}${i}`)) === 0) return `${text}${i}`
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byName, byMail, byRank], migrate: true })
  id = idOn(store, 0)
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Announces the move of all buckets of shard 0 to shard 1 in this phase, or removes it. */
async function announce(phase: LayoutMove['phase'] | undefined): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => {
    const { revision, ...rest } = layout as StoreLayout
    const move = { id: 1, from: 0, to: 1, buckets: '0-2047' }
    const moves = phase === undefined ? [] : [{ ...move, phase }]
    return { ...contents, layout: { ...rest, revision: revision + 1, moves } }
  })
  await store.context.catalog.reload()
}

const entryOf = (index: string, unique = false) =>
  store.context.catalog
    .current()
    .indexes.find((each) => each.name === index && (each.unique ?? false) === unique)!

/** Returns the rows of an entity in an index, or its claims, on each shard. */
const rowsOf = (index: string, unique = false, of = id): Promise<(readonly IndexRow[])[]> =>
  Promise.all(
    memory.shards.map(
      async (shard) => (await shard.rowsOf([tableSpec(entryOf(index, unique))], [parseId(of)]))[0]!,
    ),
  )

/** Returns the number of rows in each index, and of claims, on each shard. */
async function rowCounts(): Promise<Record<string, number[]>> {
  const counts = async (index: string, unique?: boolean): Promise<number[]> =>
    (await rowsOf(index, unique)).map(({ length }) => length)
  return {
    by_name: await counts('by_name'),
    by_rank: await counts('by_rank'),
    by_mail: await counts('by_mail', true),
  }
}

async function removeRows(index: string, shard: number): Promise<void> {
  const rows = (await rowsOf(index))[shard]!
  await memory.shards[shard]!.index(tableSpec(entryOf(index))).remove(
    rows.map(({ key, entityId, version }) => ({ key, entityId, before: version + 1 })),
  )
}

const ON_BOTH = { by_name: [1, 1], by_rank: [1, 1], by_mail: [1, 1] }

describe.each(['both', 'target', 'undoing'] as const)('a move in the phase %s', (phase) => {
  test('index rows and claims of an entity are written on both shards', async () => {
    await announce(phase)
    await store.put({ name, mail, rank: 1 }, { id })
    expect(await rowCounts()).toEqual(ON_BOTH)
  })

  test('index rows and claims that an entity has lost are deleted on both shards', async () => {
    await announce(phase)
    await store.put({ name, mail, rank: 1 }, { id })
    await store.put({}, { id })
    await store.settled()
    expect(await rowCounts()).toEqual({ by_name: [0, 0], by_rank: [0, 0], by_mail: [0, 0] })
  })

  test('a query reads one shard, and a scatter gives each entity once', async () => {
    const readAt = phase === 'target' ? 1 : 0
    await announce(phase)
    await store.put({ name, mail, rank: 1 }, { id })
    const found = async (): Promise<(string | undefined)[][]> => [
      (await store.query(byName, { name })).items.map((item) => item.id),
      (await store.query(byRank, { rank: 1 }, { scatter: true })).items.map((item) => item.id),
    ]
    expect(await found()).toEqual([[id], [id]])
    await removeRows('by_name', 1 - readAt)
    expect((await found())[0]).toEqual([id])
    await removeRows('by_name', readAt)
    expect((await found())[0]).toEqual([])
  })

  test('an inspection expects the index rows and claims of an entity on both shards', async () => {
    await announce(phase)
    await store.put({ name, mail, rank: 1 }, { id })
    const { rows } = await inspectEntity(store.context, id)
    const places = rows.filter(({ isExpected }) => isExpected).map(({ shard }) => shard)
    // The rows of by_mail beside its claims.
    expect(places.toSorted()).toEqual([...Array(4).fill('memory 0'), ...Array(4).fill('memory 1')])
  })

  test.each([0, 1])('a committed entity whose claim is on shard %i alone refuses another', async (shard) => {
    await announce(phase)
    await store.put({ mail }, { id })
    const [claim] = (await rowsOf('by_mail', true))[1 - shard]!
    await memory.shards[1 - shard]!.index(tableSpec(entryOf('by_mail', true))).remove([
      { key: claim!.key, entityId: claim!.entityId, before: claim!.version + 1 },
    ])
    await expect(store.put({ mail })).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: id })
  })

  test.each([0, 1])('a claim on shard %i whose holder was never committed refuses nobody', async (shard) => {
    await announce(phase)
    const spec = tableSpec(entryOf('by_mail', true))
    const dead = parseId(idOn(store, 0))
    await memory.shards[shard]!.claims(spec).take([{ key: [Buffer.from(mail)], entityId: dead, version: 1 }])
    await store.put({ mail }, { id })
    expect((await rowCounts())['by_mail']).toEqual([1, 1])
  })

  test('a row is far while a move of its bucket is announced', async () => {
    const locals: unknown[] = []
    plan = ({ operation, args }) => {
      if (operation === 'insert')
        locals.push(...(args[0] as readonly EntityInsert[]).map(({ local }) => local))
      return undefined
    }
    const nearId = (): string => store.newId({ near: { string: name } })
    await announce(phase)
    await store.put({ name, mail, rank: 1 }, { id: nearId() })
    await announce(undefined)
    await store.put({ name, rank: 1 }, { id: nearId() })
    expect(locals).toMatchObject([undefined, { upsert: [{}, {}] }])
  })

  test('claims are taken at the source, then at the target, before the commit', async () => {
    await announce(phase)
    const order: string[] = []
    plan = ({ table, operation, shard }) => {
      if (operation === 'take' || (table === 'entities' && operation === 'insert'))
        order.push(`${operation} ${shard}`)
      return undefined
    }
    await store.put({ mail }, { id })
    expect(order).toEqual(['take 0', 'take 1', 'insert 0'])
  })
})

test('an attempt that began before a move was announced does not commit, and the next one writes both shards', async () => {
  plan = ({ table, operation, number }) =>
    table === 'entities' && operation === 'insert' && number === 1
      ? { before: () => announce('both') }
      : undefined
  await store.put({ name, mail, rank: 1 }, { id })
  expect(await rowCounts()).toEqual(ON_BOTH)
})

test('rows are written on one shard before a move is announced, and after it was removed', async () => {
  const atSource = { by_name: [1, 0], by_rank: [1, 0], by_mail: [1, 0] }
  await store.put({ name, mail, rank: 1 }, { id })
  expect(await rowCounts()).toEqual(atSource)
  await announce('both')
  await announce('undoing')
  await announce(undefined)
  id = idOn(store, 0)
  await store.put({ name, mail: movable('bob'), rank: 1 }, { id })
  expect(await rowCounts()).toEqual(atSource)
})
