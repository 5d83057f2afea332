import { formatId, parseId, type Driver, type Shard } from '@looseleaf/core'
import type { CatalogEntry, EntityRow, IndexRow, LayoutMove, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, changeServes, tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkIndex } from '../src/check/check-index.ts'
import { checkEntityPage, type MissingCounts } from '../src/check/check-page.ts'
import { cleanIndex } from '../src/clean/clean-index.ts'
import { deleteExpired } from '../src/expire/delete-expired.ts'
import { indexTarget } from '../src/pass/index-target.ts'
import { createRepairPass } from '../src/repair/repair-pass.ts'
import { openStore } from './stores.ts'

// Cleaners while the rows of shard 0 are written on shard 1 too.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })
const expiring = defineIndex('expire', { properties: { until: 'time' }, shardOn: 'id', expires: 'until' })
const INDEXES = ['by_name', 'by_mail', 'expire']

let driver: Driver
let store: DataStore
/** An id, and two values whose buckets move. All of them are on shard 0 before the move. */
let id: string
let name: string
let mail: string

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await openStore({ driver, indexes: [byName, byMail, expiring] })
  onTestFinished(() => store.close())
  const { shardOfKey } = store.context.router
  id = idOn(store, 0)
  const movable = (text: string): string => (shardOfKey(Buffer.from(text)) === 0 ? text : movable(`${text}a`))
  name = movable('ada')
  mail = movable('ada@example.com')
})

/** Announces the move of all buckets of shard 0 to shard 1 in this phase, or removes it, which leaves them on shard 1. */
async function announce(phase: LayoutMove['phase'] | undefined): Promise<void> {
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const { revision, shards, ...rest } = layout!
    const buckets = phase === undefined ? ['', '0-4095'] : ['0-2047', '2048-4095']
    return {
      ...contents,
      layout: {
        ...rest,
        revision: revision + 1,
        shards: shards.map((shard, number) => ({ ...shard, buckets: buckets[number] })),
        moves: phase === undefined ? [] : [{ id: 1, from: 0, to: 1, buckets: '0-2047', phase }],
      },
    }
  })
  await store.context.catalog.reload()
}

/** Changes the buckets that a shard serves. */
async function serve(shard: number, serves: ShardServes): Promise<void> {
  const { catalog } = driver.shards[shard]!
  await changeServes(driver.shards[shard]!, (await catalog.load())!, serves)
}

/** Copies the entity to shard 1, and hands all buckets over to it. */
async function handOver(): Promise<void> {
  const [row] = await driver.shards[0]!.entities.read([parseId(id)])
  await serve(0, {
    owns: '',
    away: [{ move: 1, attempt: 1, buckets: '0-2047', to: 1, end: row!.updated + 1 }],
  })
  await serve(1, {
    owns: '0-4095',
    arrived: [{ move: 1, attempt: 1, buckets: '0-2047', from: 0, end: 1, begin: 2, afterAddedId: 0 }],
  })
  const { epoch } = (await driver.shards[1]!.catalog.load())!
  await driver.shards[1]!.entities.insert([{ id: row!.id, version: row!.version, body: row!.body! }], {
    epoch,
  })
}

/** Returns the number of rows, and of claims, of the entity on each shard, for each table. */
async function rowCounts(): Promise<Record<string, number[]>> {
  const counts = store.context.catalog.current().indexes.map(async (entry) => {
    const found = driver.shards.map((shard) => shard.rowsOf([tableSpec(entry)], [parseId(id)]))
    return [entry.table, (await Promise.all(found)).map(([rows]) => rows!.length)] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

const everywhere = (...counts: readonly number[]): Record<string, readonly number[]> =>
  Object.fromEntries(store.context.catalog.current().indexes.map(({ table }) => [table, counts]))

test.each(['both', 'target', 'undoing'] as const)(
  'a clean in the phase %s writes missing rows and claims on both shards, and a check finds nothing',
  async (phase) => {
    await store.put({ name, mail, until: new Date() }, { id })
    expect(await rowCounts()).toEqual(everywhere(1, 0))
    const claims = store.context.catalog.current().indexes.find(({ unique }) => unique)!
    // No entity was committed with this row.
    const dead = { key: [Buffer.from(mail)], entityId: Buffer.alloc(16, 7), version: 1 }
    await driver.shards[1]!.claims(tableSpec(claims)).take([dead])
    await announce(phase)
    // A row on the other shard of the move is no missing one: the mover has not copied it yet, or queries do not read it any more.
    const [added, ofUnique] = phase === 'target' ? [1, 2] : [0, 0]
    for (const index of INDEXES) {
      const counts = { removed: 0, added: index === 'by_mail' ? ofUnique : added }
      expect(await cleanIndex(store, index)).toMatchObject(counts)
    }
    expect(await rowCounts()).toEqual(everywhere(1, 1))
    for (const index of INDEXES) {
      const checked = await checkIndex(store, index)
      expect(checked).toMatchObject({ missing: 0, dangling: 0 })
    }
  },
)

test.each(['both', 'target'] as const)(
  'a check in the phase %s looks for rows where queries read them',
  async (phase) => {
    await store.put({ name, mail, until: new Date() }, { id })
    await announce(phase)
    const missing = phase === 'both' ? 0 : 1
    expect(await checkIndex(store, 'by_name')).toMatchObject({ missing, unclaimed: 0, dangling: 0 })
    expect(await checkIndex(store, 'by_mail')).toMatchObject({ missing, unclaimed: missing, dangling: 0 })
  },
)

test('a clean gives a key at the target to the entity that has it at the source', async () => {
  const table = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique)!)
  const scan = (shard: Shard): Promise<readonly IndexRow[]> =>
    shard.index(table).scan({ prefix: [], order: 'asc', limit: 9 })
  // A program that knew no claims has written an entity, which a cleaner reads before the holder.
  await store.put({ name, mail })
  const [claim] = await scan(driver.shards[0]!)
  await driver.shards[0]!.index(table).remove([{ ...claim!, before: claim!.version + 1 }])
  await store.put({ name, mail }, { id })
  await announce('both')
  expect(await cleanIndex(store, 'by_mail')).toMatchObject({ complete: false })
  const claims = await Promise.all(driver.shards.map(scan))
  const holders = claims.map((rows) => rows.map(({ entityId }) => formatId(entityId)))
  expect(holders).toEqual([[id], [id]])
})

/** Adds a unique index, and returns the table of its claims, which are not filled yet. */
async function addByNick(): Promise<CatalogEntry> {
  await store.addIndex(
    defineIndex('by_nick', { properties: { nick: 'string' }, shardOn: 'nick', unique: true }),
  )
  const { indexes } = store.context.catalog.current()
  return indexes.find((entry) => entry.unique && entry.name === 'by_nick')!
}

test('claims become ready when the target of a move has them too, although a failover may restore an attempt that had a key there', async () => {
  const time = leapingTime()
  store = await openStore({ driver, indexes: [byName, byMail, expiring], time })
  await store.setPolicies({ deleteDelayMs: 60_000 })
  await store.put({ nick: name }, { id })
  await announce('both')
  const claims = await addByNick()
  // A take of a dead attempt that arrives late.
  const dead = {
    key: [Buffer.from(name)],
    entityId: Buffer.alloc(16, 7),
    version: time.now() * 1000,
  }
  await driver.shards[1]!.claims(tableSpec(claims)).take([dead])
  // The shards have the machine's clock, which must not overtake this one.
  time.leap(30_000)
  expect(await cleanIndex(store, 'by_nick')).toMatchObject({ complete: true })
  expect(await rowCounts()).toMatchObject({ [claims.table]: [1, 1] })
})

/** Checks entities while another process writes a row, or takes a claim, at the source. */
async function checkWhileWritten(
  rows: readonly EntityRow[],
  entry: CatalogEntry,
  row: IndexRow,
): Promise<MissingCounts | undefined> {
  const pass = createRepairPass(store.context)
  const [spec, source] = [tableSpec(entry), driver.shards[0]!]
  const sleep = async (): Promise<void> =>
    void (await (entry.unique ? source.claims(spec).take([row]) : source.index(spec).upsert([row])))
  const target = indexTarget(store.context, entry)
  return (await checkEntityPage({ ...pass, time: { ...pass.time, sleep } }, [target], rows, 1)).get(target)
}

test('a claim that another process takes at the source during a check is taken at the target of the move too', async () => {
  const { version } = await store.put({ nick: name }, { id })
  await announce('both')
  const claims = await addByNick()
  const rows = await driver.shards[0]!.entities.read([parseId(id)])
  const claim = { key: [Buffer.from(name)], entityId: parseId(id), version }
  expect(await checkWhileWritten([rows[0]!], claims, claim)).toEqual({ missing: 0, duplicates: 0 })
  expect(await rowCounts()).toMatchObject({ [claims.table]: [1, 1] })
})

test('a row that another process writes at the source during a check is left to the mover at the target', async () => {
  const { version } = await store.put({ name }, { id })
  const entry = store.context.catalog.current().indexes.find((each) => each.name === 'by_name')!
  const row = { key: [Buffer.from(name)], entityId: parseId(id), version }
  await driver.shards[0]!.index(tableSpec(entry)).remove([{ ...row, before: version + 1 }])
  await announce('both')
  const rows = await driver.shards[0]!.entities.read([parseId(id)])
  expect(await checkWhileWritten([rows[0]!], entry, row)).toEqual({ missing: 0, duplicates: 0 })
  expect(await rowCounts()).toMatchObject({ [entry.table]: [1, 0] })
})

test('a check counts a missing claim beside one that another process takes, and that the target refuses', async () => {
  const ids = [id, idOn(store, 0), idOn(store, 0)]
  const [first, , holder] = await store.putMany([
    { id: ids[0]!, nick: name },
    { id: ids[1]!, nick: mail },
    { id: ids[2]!, nick: name },
  ])
  await announce('both')
  const claims = await addByNick()
  const key = [Buffer.from(name)]
  await driver.shards[1]!.claims(tableSpec(claims)).take([
    { key, entityId: parseId(ids[2]!), version: holder!.version },
  ])
  const rows = await driver.shards[0]!.entities.read(ids.slice(0, 2).map(parseId))
  const claim = { key, entityId: parseId(id), version: first!.version }
  expect(
    await checkWhileWritten(
      rows.map((row) => row!),
      claims,
      claim,
    ),
  ).toEqual({ missing: 1, duplicates: 1 })
})

test('a clean deletes dangling rows and claims on both shards while a move is announced', async () => {
  await announce('both')
  await store.put({ name, mail, until: new Date() }, { id })
  expect(await rowCounts()).toEqual(everywhere(1, 1))
  const [row] = await driver.shards[0]!.entities.read([parseId(id)])
  const { epoch } = (await driver.shards[0]!.catalog.load())!
  // As a writer that died after its commit.
  await driver.shards[0]!.entities.replace(
    [{ id: row!.id, base: row!.version, version: row!.version + 1, body: null }],
    { epoch },
  )
  for (const index of INDEXES) await cleanIndex(store, index)
  expect(await rowCounts()).toEqual(everywhere(0, 0))
})

test('a clean after the move deletes the rows at the source, and none at the target', async () => {
  await announce('both')
  await store.put({ name, mail, until: new Date() }, { id })
  await announce('target')
  await handOver()
  await announce(undefined)
  for (const index of INDEXES) await cleanIndex(store, index)
  expect(await rowCounts()).toEqual(everywhere(0, 1))
})

test('an expired entity with rows on two shards is deleted once, on the shard that owns it', async () => {
  await announce('both')
  await store.put({ name, until: new Date(Date.now() - 3_600_000) }, { id })
  expect(await deleteExpired(store)).toBe(1)
  const stored = await Promise.all(driver.shards.map(({ entities }) => entities.read([parseId(id)])))
  expect(stored.map(([row]) => row?.body)).toEqual([null, undefined])
})

test('an expired entity that has moved is deleted on its new shard, and its copy on the old one stays', async () => {
  await announce('both')
  await store.put({ name, until: new Date(Date.now() - 3_600_000) }, { id })
  await handOver()
  await store.context.catalog.reload()
  expect(await deleteExpired(store)).toBe(1)
  const stored = await Promise.all(driver.shards.map(({ entities }) => entities.read([parseId(id)])))
  expect(stored.map(([row]) => row?.body === null)).toEqual([false, true])
})

test('an expired entity stays while its bucket is sealed', async () => {
  await announce('both')
  await store.put({ name, until: new Date(Date.now() - 3_600_000) }, { id })
  const leaving = { move: 1, attempt: 1, buckets: '0-2047', to: 1 }
  await serve(0, { owns: '0-2047', leaving: [{ ...leaving, sealed: '0-2047' }] })
  await store.context.catalog.reload()
  expect(await deleteExpired(store)).toBe(0)
  await serve(0, { owns: '0-2047', leaving: [leaving] })
  await store.context.catalog.reload()
  expect(await deleteExpired(store)).toBe(1)
})
