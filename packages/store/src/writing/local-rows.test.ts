import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import {
  faultyDriver,
  keepOpen,
  withoutPauses,
  type Fault,
  type FaultPlan,
  type FaultyCall,
} from '@looseleaf/testkit'
import { farRouter, localRouter } from '@looseleaf-tooling/kit/far-router'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

let memory: Driver
let plan: FaultPlan
/** Calls of the driver, without looks at the floor. */
let calls: FaultyCall[]
const opened: DataStore[] = []

const router = localRouter()

async function open(options: Partial<DataStoreOptions> = {}): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    if (call.operation !== 'floor') calls.push(call)
    return plan(call)
  })
  const indexes = [byName, byMail, byRank]
  const given = { shards: keepOpen(driver), indexes, migrate: true, time: withoutPauses, router }
  const store = await DataStore.open({ ...given, ...options })
  opened.push(store)
  calls.length = 0
  return store
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  plan = () => undefined
  calls = []
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await memory.close()
})

const named = () => calls.map(({ table, operation }) => `${table} ${operation}`)

const failing = (code: 'SHARD_BUSY' | 'SHARD_UNAVAILABLE', undone = false): Fault => ({
  before: () => Promise.reject(new LooseleafError(code, 'On purpose.', { undone })),
})

/** Counts the rows of a table on all shards, or its claims. */
async function rowCount(store: DataStore, table: string): Promise<number> {
  const entry = store.context.catalog.current().indexes.find((each) => each.table === table)!
  const counts = memory.shards.map((shard) => shard.index(tableSpec(entry)).count({ prefix: [] }))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** Returns the local rows and claims of each entity that was sent, by their tables. */
function localOf(part: 'upsert' | 'claims' | 'remove'): readonly string[] {
  return calls.flatMap(({ operation, args }) => {
    if (operation !== 'insert' && operation !== 'replace') return []
    const [rows] = args as [readonly EntityInsert[]]
    return rows.flatMap(({ local }) => local?.[part]?.map(({ spec }) => spec.table) ?? [])
  })
}

describe('local rows and claims', () => {
  it('rows and claims on the shard of their entity are written with it in one call', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada', mail: 'ada@example.com', rank: 1 })
    expect(named()).toEqual(['entities insert'])
    expect(localOf('upsert').toSorted()).toEqual(['index_by_mail', 'index_by_name', 'index_by_rank'])
    expect(localOf('claims')).toEqual(['claims_by_mail'])
    const found = [
      ...(await store.getAll(byName, { name: 'ada' })),
      ...(await store.getAll(byMail, { mail: 'ada@example.com' })),
    ]
    expect(found.map((entity) => entity.id)).toEqual([id, id])
  })

  it('only the rows on the shard of their entity are local', async () => {
    const store = await open({ router: farRouter() })
    await store.put({ name: 'ada', mail: 'ada@example.com', rank: 1 })
    expect(named().toSorted()).toEqual([
      'claims_by_mail take',
      'entities insert',
      'index_by_mail upsert',
      'index_by_name upsert',
    ])
    expect(named().at(-1)).toBe('entities insert')
    expect(localOf('upsert')).toEqual(['index_by_rank'])
    expect(localOf('claims')).toEqual([])
  })

  it('with buckets a row or claim in another bucket than its entity is written by a statement of its own, also on the same shard', async () => {
    const store = await open({ router: undefined })
    const { placement } = store.context.catalog.current()
    const name = 'ada'
    const near = store.newId({ near: { string: name } })
    const elsewhere = Array.from({ length: 100 }, () => store.newId()).find(
      (id) => placement.shardOfId(parseId(id)) === placement.shardOfId(parseId(near)),
    )
    await store.put({ name }, { id: near })
    expect(named()).toEqual(['entities read', 'entities insert'])
    calls.length = 0
    await store.put({ name, mail: name, rank: 1 }, { id: elsewhere })
    expect(named().toSorted()).toEqual([
      'claims_by_mail take',
      'entities insert',
      'entities read',
      'index_by_mail upsert',
      'index_by_name upsert',
    ])
    expect(localOf('upsert').toSorted()).toEqual(['index_by_rank'])
  })

  it('in a store of one shard every row and claim is written with its entity', async () => {
    await memory.close()
    memory = await memoryShards(1).connect()
    const store = await open({ router: undefined })
    await store.put({ name: 'ada', mail: 'ada@example.com', rank: 1 })
    expect(named()).toEqual(['entities insert'])
  })

  it('rows and claims of a deleted entity are deleted with it', async () => {
    const store = await open()
    const { id } = await store.put({ name: 'ada', mail: 'ada@example.com', rank: 1 })
    await store.delete(id)
    await store.settled()
    expect(named().filter((name) => name.endsWith('remove'))).toEqual([])
    for (const table of ['index_by_name', 'index_by_rank', 'index_by_mail', 'claims_by_mail'])
      expect(await rowCount(store, table)).toBe(0)
  })

  it('a local claim is released with the write that gives the key up, and is free at once', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'ada' })
    await store.put({ mail: 'lovelace' }, { id })
    const second = await store.put({ mail: 'ada' })
    expect(named().filter((name) => name.includes('claims'))).toEqual([])
    expect((await store.getAll(byMail, { mail: 'ada' })).map((entity) => entity.id)).toEqual([second.id])
  })

  it('writes that share a call get their own outcomes, and one with a taken key fails alone', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'taken' })
    calls.length = 0
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => store.put({ name: `${i}`, mail: i === 7 ? 'taken' : `${i}` })),
    )
    for (const [i, result] of results.entries()) {
      if (i === 7) expect(result).toMatchObject({ reason: { code: 'DUPLICATE_KEY', holder: id } })
      else expect(result).toMatchObject({ value: { created: true, indexed: true } })
    }
    expect(await store.count(byMail, {}, { scatter: true, exact: true })).toBe(20)
    await store.settled()
    expect(await rowCount(store, 'claims_by_mail')).toBe(20)
  })

  it('two entities that want one key in one call do not both get it', async () => {
    const store = await open()
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => store.put({ mail: 'ada' })))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'DUPLICATE_KEY' })
    expect(await store.count(byMail, { mail: 'ada' }, { exact: true })).toBe(1)
  })

  it('a claim that an entity without the key has left over is taken over', async () => {
    const store = await open()
    const { id, version } = await store.put({ mail: 'ada' })
    await store.put({}, { id })
    const entry = store.context.catalog.current().indexes.find(({ table }) => table === 'claims_by_mail')!
    const key = [Buffer.from('ada')]
    await memory.shards[0]!.claims(tableSpec(entry)).take([{ key, entityId: parseId(id), version }])
    const second = await store.put({ mail: 'ada' })
    expect((await store.getAll(byMail, { mail: 'ada' })).map((entity) => entity.id)).toEqual([second.id])
  })

  it('a write whose rows are too many for one call of an index is one transaction', async () => {
    const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })
    const store = await open({ indexes: [byTag] })
    const tags = Array.from({ length: 1_000 }, (_, i) => `${i}`)
    const { id } = await store.put({ tags })
    expect(named()).toEqual(['entities insert'])
    expect(await rowCount(store, 'index_by_tag')).toBe(1)
    await store.put({ tags: [] }, { id })
    await store.settled()
    expect(await rowCount(store, 'index_by_tag')).toBe(0)
  })
})

describe('a commit that its local rows fail', () => {
  it('local rows in the table of an index that is being dropped are left out', async () => {
    const store = await open()
    const stale = await open({ migrate: false })
    await store.dropIndex('by_name')
    const { id } = await stale.put({ name: 'ada', rank: 1 })
    expect(await stale.get(id)).toEqual({ id, name: 'ada', rank: 1 })
  })

  it("with onIndexFailure 'defer' the rows of a failing table are deferred, and the others written", async () => {
    const store = await open({ onIndexFailure: 'defer' })
    plan = (call) => (upsertsRows(call, 'index_by_name') ? failing('SHARD_BUSY') : undefined)
    expect(await store.put({ name: 'ada', rank: 1 })).toMatchObject({ indexed: false })
    expect(await rowCount(store, 'index_by_rank')).toBe(1)
    expect(await memory.shards[0]!.pending.tables()).toEqual(['index_by_name'])
    plan = () => undefined
    expect((await store.query(byName, { name: 'ada' })).cost.complete).toBe(false)
  })

  it("with onIndexFailure 'fail' the error of a failing table reaches the caller, and nothing is written", async () => {
    const store = await open()
    plan = (call) => (upsertsRows(call) ? failing('SHARD_UNAVAILABLE') : undefined)
    await expect(store.put({ name: 'ada' })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      unknownOutcome: false,
    })
    plan = () => undefined
    expect(await rowCount(store, 'index_by_name')).toBe(0)
  })

  it('an attempt that the database has undone is repeated with far rows, so that its own rows alone can fail it', async () => {
    const store = await open()
    plan = (call) => {
      const [rows] = call.args as [readonly EntityInsert[]]
      return call.operation === 'insert' && rows[0]?.local ? failing('SHARD_BUSY', true) : undefined
    }
    const { id } = await store.put({ name: 'ada' })
    expect(named()).toEqual(['entities insert', 'entities read', 'index_by_name upsert', 'entities insert'])
    expect((await store.getAll(byName, { name: 'ada' })).map((entity) => entity.id)).toEqual([id])
  })
})

describe('policies and local rows', () => {
  it("with writeOrder 'entity-first' local rows are written with their entity, and lost ones left to the cleaner", async () => {
    const store = await open({ writeOrder: 'entity-first' })
    const { id } = await store.put({ name: 'ada', rank: 1 })
    expect(named()).toEqual(['entities insert'])
    await store.delete(id)
    await store.settled()
    expect(localOf('remove')).toEqual([])
    expect(await rowCount(store, 'index_by_name')).toBe(1)
  })

  it("with writeOrder 'entity-first' local rows of a failing table do not fail their entity", async () => {
    const store = await open({ writeOrder: 'entity-first' })
    plan = (call) => (upsertsRows(call) ? failing('SHARD_UNAVAILABLE') : undefined)
    const { id, indexed } = await store.put({ name: 'ada' })
    expect(indexed).toBe(false)
    expect(await store.get(id)).toEqual({ id, name: 'ada' })
  })

  it('with deleteDelayMs no commit deletes rows or claims', async () => {
    const store = await open({ deleteDelayMs: 60_000 })
    const { id } = await store.put({ name: 'ada', mail: 'ada' })
    await store.delete(id)
    await store.settled()
    expect(localOf('remove')).toEqual([])
    expect(await rowCount(store, 'claims_by_mail')).toBe(1)
  })
})
