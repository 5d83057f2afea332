import { parseId } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { deriveClaims, keyIdentity, shardOfRow } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { createIndexKeeper } from '../src/background/keep-indexes.ts'
import { checkIndex, tunedCheckIndex } from '../src/check/check-index.ts'
import { cleanIndex, tunedCleanIndex } from '../src/clean/clean-index.ts'
import type { Problem } from '../src/pass/pass-options.ts'
import { sweep } from '../src/sweep/sweep.ts'
import { openStore, withDeleteDelay } from './stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'

const plain = { properties: { mail: 'string' }, shardOn: 'mail' } as const
const byMail = defineIndex('by_mail', { ...plain, unique: true })
const CLAIMS = 'claims_by_mail'

async function open(indexes = [byMail], driver = memoryShards(3).connect()): Promise<DataStore> {
  return openStore({ driver: await driver, indexes, time: leapingTime() })
}

function claimTable(store: DataStore, shard: number) {
  const spec = { table: CLAIMS, columns: [{ name: 'mail', type: 'string' as const }], unique: true as const }
  const on = store.context.driver.shards[shard]!
  return { rows: on.index(spec), claims: on.claims(spec) }
}

async function claims(store: DataStore): Promise<IndexRow[]> {
  const shards = store.context.driver.shards.keys()
  const all = await Promise.all(
    Array.from(shards, (shard) =>
      claimTable(store, shard).rows.scan({ prefix: [], order: 'asc', limit: 1000 }),
    ),
  )
  return all.flat()
}

/** Returns key and entity of each claim as text, sorted. */
async function held(store: DataStore): Promise<string[]> {
  return (await claims(store))
    .map(({ key, entityId }) => `${keyIdentity(key)} ${Buffer.from(entityId).toString('hex')}`)
    .toSorted()
}

async function expectHeld(store: DataStore): Promise<void> {
  const expected: string[] = []
  for await (const { id, ...bag } of store.scan()) {
    for (const key of deriveClaims(byMail, bag))
      expected.push(`${keyIdentity(key)} ${Buffer.from(parseId(id)).toString('hex')}`)
  }
  expect(await held(store)).toEqual(expected.toSorted())
}

async function states(store: DataStore): Promise<string[]> {
  return (await store.indexes()).map(({ table, state }) => `${table} ${state}`)
}

test('a new unique index over entities gets a claim for each key, and becomes ready', async () => {
  const store = await open([])
  await store.putMany(Array.from({ length: 50 }, (_, i) => ({ mail: `user ${i}`, n: i })))
  await store.put({ n: 1 })
  await store.addIndex(byMail)
  expect(await states(store)).toEqual(['index_by_mail building', 'claims_by_mail building'])
  const { indexes } = await tunedCleanIndex(store, 'by_mail', { pageSize: 10 })
  expect(indexes).toMatchObject([
    { index: 'by_mail', state: 'ready', added: 50 },
    { index: 'by_mail', state: 'ready', unique: true, added: 50, duplicates: 0 },
  ])
  await expectHeld(store)
  await expect(store.put({ mail: 'user 7' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
})

test('an existing index that becomes unique only has its claims filled', async () => {
  const store = await open([defineIndex('by_mail', plain)])
  await store.put({ mail: 'ada' })
  await store.addIndex(byMail)
  expect(await states(store)).toEqual(['index_by_mail ready', 'claims_by_mail building'])
  expect((await store.query(byMail, { mail: 'ada' })).items).toHaveLength(1)
  expect((await cleanIndex(store, 'by_mail')).indexes).toMatchObject([
    { state: 'ready', added: 0 },
    { unique: true, state: 'ready', added: 1 },
  ])
  expect(await states(store)).toEqual(['index_by_mail ready', 'claims_by_mail ready'])
})

test('a unique index over entities that share keys keeps all rows, reports the duplicates, and becomes ready when they are resolved', async () => {
  const store = await open([])
  const { id: first } = await store.put({ mail: 'ada' })
  const { id: second } = await store.put({ mail: 'ada' })
  await store.put({ mail: 'eve' })
  await store.addIndex(byMail)
  const problems: Problem[] = []
  const onProblem = (problem: Problem): void => void problems.push(problem)
  const cleaned = await cleanIndex(store, 'by_mail', { onProblem })
  expect(cleaned.indexes).toMatchObject([{ state: 'ready' }, { state: 'building', duplicates: 1, added: 2 }])
  expect(await store.count(byMail, { mail: 'ada' }, { exact: true })).toBe(2)
  const [problem] = problems.filter(({ kind }) => kind === 'duplicate')
  expect(problem).toMatchObject({ index: 'by_mail' })
  expect([problem?.entity, problem?.holder].toSorted()).toEqual([first, second].toSorted())

  problems.length = 0
  expect(await checkIndex(store, 'by_mail', { onProblem })).toMatchObject({ unclaimed: 1, entities: 3 })
  expect(problems).toMatchObject([{ kind: 'duplicate', entity: problem?.entity, holder: problem?.holder }])

  // No other entity gets the key, and the entities that have it can be written.
  await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  await store.put({ mail: 'ada', n: 2 }, { id: second })
  await store.put({ mail: 'ada two' }, { id: second })
  const again = await cleanIndex(store, 'by_mail')
  expect(again.indexes).toMatchObject([{ state: 'ready' }, { state: 'ready', unique: true, duplicates: 0 }])
  await expectHeld(store)
})

test('rows are checked and cleaned while their claims are being filled', async () => {
  const store = await open([defineIndex('by_mail', plain)])
  const { id } = await store.put({ mail: 'ada' })
  await store.put({ mail: 'ada' })
  await store.addIndex(byMail)
  const entry = store.context.catalog.current().indexes.find(({ unique }) => !unique)!
  const shard = shardOfRow(
    entry,
    store.context.catalog.current().placement,
    [Buffer.from('ada')],
    parseId(id),
  )
  await store.context.driver.shards[shard]!.index({
    table: entry.table,
    columns: [{ name: 'mail', type: 'string' }],
  }).remove([{ key: [Buffer.from('ada')], entityId: parseId(id), before: Infinity }])
  expect(await tunedCheckIndex(store, 'by_mail', { settleMs: 0 })).toMatchObject({
    missing: 1,
    unclaimed: 2,
    rows: 1,
  })
  await cleanIndex(store, 'by_mail')
  expect(await tunedCheckIndex(store, 'by_mail', { settleMs: 0 })).toMatchObject({
    missing: 0,
    unclaimed: 1,
    rows: 2,
  })
})

test('claims are checked and cleaned with each generation that shares them', async () => {
  const listed = defineIndex('by_mail', { ...plain, unique: true, include: ['title'] })
  const store = await open([byMail])
  const { id } = await store.put({ mail: 'ada', title: 'x' })
  await store.addIndex(listed)
  const second = { name: 'by_mail', generation: 2 }
  expect((await cleanIndex(store, second)).indexes).toMatchObject([
    { generation: 2, state: 'ready', added: 1 },
    { generation: 1, state: 'ready', unique: true },
  ])
  const key = [Buffer.from('ada')]
  const entry = store.context.catalog.current().indexes.find(({ unique }) => unique)!
  const shard = shardOfRow(entry, store.context.catalog.current().placement, key, parseId(id))
  await claimTable(store, shard).rows.remove([{ key, entityId: parseId(id), before: Infinity }])
  for (const name of ['by_mail', { name: 'by_mail', generation: 1 }, second])
    expect(await tunedCheckIndex(store, name, { settleMs: 0 })).toMatchObject({ missing: 0, unclaimed: 1 })
  await cleanIndex(store, second)
  await expectHeld(store)
})

test('a plain name means the generation whose claims are being filled, beside one that is not unique', async () => {
  const store = await open([defineIndex('by_mail', plain)])
  await store.putMany([{ mail: 'ada' }, { mail: 'Ada' }])
  const lower = { properties: { mail: { type: 'string', key: 'lower' } }, shardOn: 'mail' } as const
  await store.addIndex(defineIndex('by_mail', { ...lower, unique: true }))
  await cleanIndex(store, 'by_mail')
  expect(await states(store)).toEqual([
    'index_by_mail ready',
    'index_by_mail_2 ready',
    'claims_by_mail building',
  ])
  expect(await checkIndex(store, 'by_mail')).toMatchObject({ generation: 2, unclaimed: 1 })
  for (const { id } of await store.getAll(defineIndex('by_mail', plain), { mail: 'Ada' }))
    await store.delete(id)
  await cleanIndex(store, 'by_mail')
  // Both generations are ready.
  expect(await checkIndex(store, 'by_mail')).toMatchObject({ generation: 1, unclaimed: 0 })
})

test('a background cleaner fills claims again every ten minutes while entities share keys', async () => {
  const time = leapingTime()
  const store = await openStore({ shards: 3, indexes: [], time })
  await store.putMany([{ mail: 'ada' }, { mail: 'ada' }])
  await store.addIndex(byMail)
  let scans = 0
  for (const shard of store.context.driver.shards) {
    const page = shard.entities.pageByAdded.bind(shard.entities)
    shard.entities.pageByAdded = (...args) => (scans++, page(...args))
  }
  const keeper = createIndexKeeper(
    store.context,
    { signal: new AbortController().signal, sweepEveryMs: 86_400_000, settleMs: 0, pollMs: 1 },
    {},
    (error) => {
      throw error
    },
  )
  await keeper.startDue({})
  await keeper.ended()
  expect(await states(store)).toEqual(['index_by_mail ready', 'claims_by_mail building'])
  const after = scans
  expect(after).toBeGreaterThan(0)
  for (const [later, isRefilled] of [
    [0, false],
    [599_999, false],
    [1, true],
  ] as const) {
    time.leap(later)
    await keeper.startDue({})
    await keeper.ended()
    expect(scans > after).toBe(isRefilled)
  }
})

test('a sweep releases claims without an entity, and takes missing ones', async () => {
  const store = await open()
  const { id, version } = await store.put({ mail: 'ada' })
  const { id: eve } = await store.put({ mail: 'eve' })
  const { placement } = store.context.catalog.current()
  const at = (mail: string, owner: string): number =>
    shardOfRow(byMail, placement, [Buffer.from(mail)], parseId(owner))
  // These claims were left by attempts that died, one long ago and one recently.
  const dead = parseId(store.newId())
  for (const [mail, stamp] of [
    ['old', version - 1],
    ['new', version + 1_000_000],
  ] as const) {
    const row = { key: [Buffer.from(mail)], entityId: dead, version: stamp }
    await claimTable(store, at(mail, id)).claims.take([row])
  }
  await claimTable(store, at('eve', eve)).rows.remove([
    { key: [Buffer.from('eve')], entityId: parseId(eve), before: Infinity },
  ])
  expect(await tunedCheckIndex(store, 'by_mail', { settleMs: 0 })).toMatchObject({
    unclaimed: 1,
    missing: 0,
    dangling: 2,
  })
  await sweep(store, { graceMs: 0 })
  await expectHeld(store)
  expect(await tunedCheckIndex(store, 'by_mail', { settleMs: 0 })).toMatchObject({
    unclaimed: 0,
    dangling: 0,
  })
})

test('a sweep moves a claim from an entity without the key to the one that has it', async () => {
  const store = await open()
  const { id } = await store.put({ mail: 'ada' })
  const shard = shardOfRow(
    byMail,
    store.context.catalog.current().placement,
    [Buffer.from('ada')],
    parseId(id),
  )
  const { claims: table } = claimTable(store, shard)
  const [claim] = (await claims(store)) as [IndexRow]
  const other = parseId(store.newId())
  await table.swap(claim, { entityId: other, version: claim.version + 1 })
  await sweep(store, { graceMs: 0 })
  await expectHeld(store)
})

test('a key that a failover may bring back to another entity does not delay other claims, and is taken later', async () => {
  const store = await open()
  const { placement } = store.context.catalog.current()
  for (const mail of ['ada', 'eve']) await store.put({ mail })
  const removed = (await claims(store)).map(({ key, entityId, version }) => ({
    key,
    entityId,
    before: version + 1,
  }))
  for (const claim of removed) {
    const { rows, claims: table } = claimTable(
      store,
      shardOfRow(byMail, placement, claim.key, claim.entityId),
    )
    await rows.remove([claim])
    // An attempt that died has taken one of the keys.
    const version = claim.before + 1_000_000_000
    if (claim === removed[0])
      await table.take([{ key: claim.key, entityId: parseId(store.newId()), version }])
  }
  await sweep({ context: withDeleteDelay(store.context, 60_000) }, { graceMs: 0 })
  const owners = (await claims(store)).map(({ entityId }) => entityId)
  expect(owners).toContainEqual(removed[1]!.entityId)
  expect(owners).not.toContainEqual(removed[0]!.entityId)
  await sweep(store, { graceMs: 0 })
  await expectHeld(store)
})

test('dropping a unique index drops its claims', async () => {
  const store = await open()
  await store.put({ mail: 'ada' })
  await store.dropIndex('by_mail')
  expect(await states(store)).toEqual([])
  await store.put({ mail: 'ada' })
  await store.addIndex(byMail)
  expect(await states(store)).toEqual(['index_by_mail_2 building', 'claims_by_mail_2 building'])
})
