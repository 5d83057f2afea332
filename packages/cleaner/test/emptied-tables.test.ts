import { LooseleafError, type Driver } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { editTask, rowText } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { cleanIndex, readCleanerReport } from '../src/index.ts'
import { readEmptiedTables, startTunedCleaner } from '../src/internal.ts'
import { runTask } from '../src/clean/run-record.ts'
import { createWitnessKeeper, type WitnessKeeper } from '../src/tampering/keep-witnesses.ts'
import { loadWitnesses } from '../src/tampering/witness-record.ts'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { byTag, byUser, expectedRows, openStore, rowsIn } from './stores.ts'
import { leapingTime, until, type LeapingTime } from '@looseleaf-tooling/kit/times'

const MINUTE = 60_000
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

let time: LeapingTime
let driver: Driver
let store: DataStore
let warnings: string[]
let plan: FaultPlan
/** Statements by shard and operation. */
let sent: string[]

beforeEach(async () => {
  time = leapingTime()
  warnings = []
  plan = () => undefined
  sent = []
  driver = faultyDriver(await memoryShards(2).connect(), (call) => {
    sent.push(`${call.shard} ${call.operation}`)
    return plan(call)
  })
  store = await openStore({
    driver,
    indexes: [byUser, byTag, byMail],
    time,
    onWarning: (warning) => warnings.push(warning),
  })
  for (let i = 0; i < 40; i++)
    await store.put({ user_id: `user ${i % 7}`, published: i, tags: [`tag ${i % 3}`], mail: `m${i}` })
})
afterEach(() => store.close())

/** Deletes all rows of a table, as `DELETE FROM` would. */
async function empty(shard: number, table: string): Promise<void> {
  const entry = store.context.catalog.current().indexes.find((index) => index.table === table)!
  const rows = store.context.driver.shards[shard]!.index(tableSpec(entry))
  const existing = await rows.scan({ prefix: [], order: 'asc', limit: 10_000 })
  const removed = await rows.remove(existing.map((row) => ({ ...row, before: row.version + 1 })))
  expect(removed).toBe(existing.length)
}

const keeperOf = (isMine: (shard: number) => boolean = () => true): WitnessKeeper =>
  createWitnessKeeper(store.context, { owner: 'one', isMine, settleMs: 0 })

async function looks(keeper: WitnessKeeper, count: number): Promise<void> {
  for (let look = 0; look < count; look++) {
    time.leap(MINUTE)
    await keeper.look({})
  }
}

/** Undoes the end of the last run. */
async function reopenRun(): Promise<void> {
  const { tasks } = driver.shards[0]!
  const reopen = (text: string): string => text.replace('"done"', '"running"')
  expect(await editTask(tasks, runTask('index_by_user'), reopen, { owner: 'dead' })).toBe(true)
}

const states = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await store.indexes()).map(({ table, state }) => [table, state]))
const ALL_READY = {
  index_by_user: 'ready',
  index_by_tag: 'ready',
  index_by_mail: 'ready',
  claims_by_mail: 'ready',
}

test.each([0, 1])(
  'an index whose table on shard %i was emptied is not queried until it is filled again',
  async (shard) => {
    await looks(keeperOf(), 1)
    await empty(shard, 'index_by_user')
    // Another process knows only the stored witnesses.
    await looks(keeperOf(), 2)
    expect(await states()).toEqual({ ...ALL_READY, index_by_user: 'building' })
    await expect(store.query(byUser, { user_id: 'user 1' })).rejects.toMatchObject({
      code: 'INDEX_NOT_READY',
    })
    expect(warnings).toEqual([expect.stringContaining('The table of index by_user was emptied')])
    const lost = { index: 'by_user', shard: `memory ${shard}`, foundAt: new Date(time.now()) }
    expect(await readEmptiedTables(store)).toMatchObject([{ ...lost, isFilled: false }])
    expect(await cleanIndex(store, 'by_user')).toMatchObject({ complete: true })
    expect(await readEmptiedTables(store)).toMatchObject([{ ...lost, isFilled: true }])
    expect(await states()).toEqual(ALL_READY)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
    await looks(keeperOf(), 2)
    expect(await states()).toEqual(ALL_READY)
    expect(await readEmptiedTables(store)).toMatchObject([{ ...lost, isFilled: true }])
  },
)

test('an emptied index does not become ready by an earlier run whose worker made it ready and died', async () => {
  await cleanIndex(store, 'by_user')
  await reopenRun()
  let isJoined = false
  const watched = faultyDriver(driver, ({ shard, table, operation, args: [next] }): Fault | undefined => {
    // The records of runs are claimed slowly.
    if (operation === 'claimAll') return { before: () => new Promise((resolve) => setTimeout(resolve, 50)) }
    if (shard !== 0 || table !== 'catalog' || operation !== 'change' || isJoined) return undefined
    if ((next as ShardCatalog).indexes.every(({ state }) => state !== 'building')) return undefined
    isJoined = true
    return { after: async () => void (await cleanIndex(store, 'by_user')) }
  })
  const other = await openStore({ driver: watched, time, indexes: [], onWarning: () => {} })
  const keeper = createWitnessKeeper(other.context, { owner: 'one', isMine: () => true, settleMs: 0 })
  await looks(keeper, 1)
  await empty(0, 'index_by_user')
  await looks(keeper, 2)
  expect(isJoined).toBe(true)
  await store.context.catalog.reload()
  expect(await states()).toEqual(ALL_READY)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  await other.close()
})

test('the witnesses of a table are its first rows and its last one', async () => {
  await looks(keeperOf(), 1)
  const [shard] = store.context.driver.shards
  const entry = store.context.catalog.current().indexes.find(({ name }) => name === 'by_user')!
  const rows = await shard!.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 100 })
  expect(rows.length).toBeGreaterThan(3)
  const { places } = (await loadWitnesses(shard!, ['index_by_user'], {})).get('index_by_user')!
  expect(places.map(rowText)).toEqual([...rows.slice(0, 2), rows.at(-1)!].map(rowText))
})

test('an emptied index is filled by a run that begins after the writes in flight have ended', async () => {
  await cleanIndex(store, 'by_user')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: held, resolve: hold } = Promise.withResolvers<void>()
  const slow = faultyDriver(driver, ({ table, operation }) =>
    table === 'entities' && operation === 'insert' ? { before: () => (hold(), released) } : undefined,
  )
  const writer = await openStore({ driver: slow, indexes: [], onWarning: () => {} })
  let isDead = false
  const dying = faultyDriver(driver, ({ shard, table, operation, args: [next] }): Fault | undefined => {
    if (isDead) return { before: () => Promise.reject(new Error('The process dies.')) }
    if (shard !== 0 || table !== 'catalog' || operation !== 'change') return undefined
    if ((next as ShardCatalog).indexes.every(({ state }) => state !== 'building')) return undefined
    return {
      async before() {
        // A worker reads all entities, and dies before it ends the run.
        await cleanIndex(store, 'by_user')
        await reopenRun()
        release()
        await written
      },
      after: () => void (isDead = true),
    }
  })
  const other = await openStore({ driver: dying, time, indexes: [], onWarning: () => {} })
  const keeper = createWitnessKeeper(other.context, { owner: 'one', isMine: () => true, settleMs: 0 })
  await looks(keeper, 1)
  const written = writer.put({ user_id: 'user 1', published: 99 })
  await held
  for (const shard of [0, 1]) await empty(shard, 'index_by_user')
  await expect(looks(keeper, 2)).rejects.toThrow('dies')
  await store.context.catalog.reload()
  expect(await states()).toEqual({ ...ALL_READY, index_by_user: 'building' })
  await cleanIndex(store, 'by_user')
  expect(await states()).toEqual(ALL_READY)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  await writer.close()
})

test('emptied claims are taken again, and protect their keys', async () => {
  await looks(keeperOf(), 1)
  await empty(0, 'claims_by_mail')
  await empty(1, 'claims_by_mail')
  await looks(keeperOf(), 2)
  expect(await states()).toEqual({ ...ALL_READY, claims_by_mail: 'building' })
  await cleanIndex(store)
  expect(await states()).toEqual(ALL_READY)
  for (const mail of ['m0', 'm17', 'm39'])
    await expect(store.put({ mail })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
})

test('a running cleaner notices an emptied table, and fills its index again', async () => {
  const cleaner = startTunedCleaner(store, { settleMs: 0, sweepEveryMs: 1e12 })
  onTestFinished(() => cleaner.stop())
  // The first sweep has to end before, or it would write the rows again.
  await until(async () =>
    (await readCleanerReport(store)).indexes.every(({ lastRun }) => lastRun !== undefined),
  )
  const [shard] = store.context.driver.shards
  await until(async () => {
    const kept = await loadWitnesses(shard!, ['index_by_user'], {})
    return kept.get('index_by_user')!.places.length > 0
  })
  await empty(0, 'index_by_user')
  await until(() => warnings.length > 0)
  await until(
    async () => (await states())['index_by_user'] === 'ready' && cleaner.status().filling.length === 0,
  )
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('witnesses of deleted or moved entities are replaced, and do not count as emptied', async () => {
  const keeper = keeperOf()
  await looks(keeper, 1)
  const users = await store.getAll(byUser, { user_id: { in: ['user 0', 'user 1', 'user 6'] } })
  for (const [i, { id }] of users.entries()) {
    if (i % 2 === 0) await store.delete(id)
    else await store.update(id, (bag) => ({ ...bag, user_id: 'user 5' }))
  }
  await store.settled()
  await looks(keeper, 3)
  expect(await states()).toEqual(ALL_READY)
  for (const shard of [0, 1]) await empty(shard, 'index_by_user')
  await looks(keeper, 2)
  expect(await states()).toEqual({ ...ALL_READY, index_by_user: 'building' })
})

test('a witness that is repaired between two looks does not count as emptied', async () => {
  const keeper = keeperOf()
  await looks(keeper, 1)
  await empty(0, 'index_by_tag')
  await looks(keeper, 1)
  await cleanIndex(store, 'by_tag')
  await looks(keeper, 2)
  expect(await states()).toEqual(ALL_READY)
  expect(warnings).toEqual([])
})

test('two tables that are emptied together are named by one warning', async () => {
  await looks(keeperOf(), 1)
  for (const table of ['index_by_user', 'index_by_tag']) await empty(0, table)
  await empty(1, 'index_by_user')
  await looks(keeperOf(), 2)
  expect(await states()).toMatchObject({ index_by_user: 'building', index_by_tag: 'building' })
  expect(warnings).toEqual([expect.stringContaining('The table of index by_user, by_tag was emptied')])
  expect((await readEmptiedTables(store)).map(({ index, shard }) => `${index} ${shard}`)).toEqual([
    'by_user memory 0',
    'by_tag memory 0',
    'by_user memory 1',
  ])
})

test('a table whose entities have pending rows does not count as emptied', async () => {
  await store.setPolicies({ onIndexFailure: 'defer' })
  await looks(keeperOf(), 1)
  await empty(0, 'index_by_user')
  const id = Buffer.alloc(16)
  const { epoch } = (await driver.shards[1]!.catalog.load())!
  const row = { id, version: time.now() * 1000, body: Buffer.from('any'), deferred: ['index_by_user'] }
  await driver.shards[1]!.entities.insert([row], { epoch })
  await looks(keeperOf(), 3)
  expect(await states()).toEqual(ALL_READY)
  const settled = { entityId: id, table: 'index_by_user', before: row.version + 1 }
  expect(await driver.shards[1]!.pending.remove([settled], { epoch })).toBe(1)
  await looks(keeperOf(), 2)
  expect(await states()).toEqual({ ...ALL_READY, index_by_user: 'building' })
})

test('witnesses are looked up once a minute, and saved only if others were chosen', async () => {
  const keeper = keeperOf()
  await looks(keeper, 1)
  expect(sent).toContain('0 claim')
  sent = []
  time.leap(MINUTE - 1)
  await keeper.look({})
  expect(sent).toEqual([])
  time.leap(1)
  await keeper.look({})
  expect([...new Set(sent)].toSorted()).toEqual(['0 loadAll', '0 rowsOf', '1 loadAll', '1 rowsOf'])
})

test('a process looks at the shards that it follows, as soon as it follows one', async () => {
  let isMine = false
  const keeper = keeperOf((shard) => isMine && shard === 1)
  sent = []
  await keeper.look({})
  expect(sent).toEqual([])
  isMine = true
  await keeper.look({})
  expect(new Set(sent.map((statement) => statement[0]))).toEqual(new Set(['1']))
})

test('a table whose witnesses are gone gets others, and more of them as it gets more rows', async () => {
  await looks(keeperOf(), 1)
  for await (const { id } of store.scan()) await store.delete(id)
  await store.settled()
  const counts: number[] = []
  for (let rows = 0; rows < 5; rows++) {
    await looks(keeperOf(), 1)
    counts.push(
      (await loadWitnesses(driver.shards[0]!, ['index_by_tag'], {})).get('index_by_tag')!.places.length,
    )
    await store.put({ tags: ['x'] }, { id: idOn(store, 0) })
  }
  expect(counts).toEqual([0, 1, 2, 3, 3])
})

test.each([
  ['a shard that does not answer', new LooseleafError('SHARD_UNAVAILABLE', 'Away.'), true],
  ['a table of a dropped index', new LooseleafError('INDEX_NOT_FOUND', 'Gone.'), true],
  ['a mistake of the program', new TypeError('A mistake.'), false],
])('a look leaves out the shard with %s: %s (%s)', async (_, failure, isLeftOut) => {
  plan = ({ shard, operation }) =>
    shard === 0 && operation === 'rowsOf' ? { before: () => Promise.reject(failure) } : undefined
  const looked = keeperOf().look({})
  if (!isLeftOut) return expect(looked).rejects.toBe(failure)
  await looked
  const places = await Promise.all(
    driver.shards.map(async (shard) =>
      (await loadWitnesses(shard, ['index_by_user'], {})).get('index_by_user')!,
    ),
  )
  expect(places.map((record) => record.places.length)).toEqual([0, 3])
})

test('emptied tables are read from the shards that answer', async () => {
  await looks(keeperOf(), 1)
  for (const shard of [0, 1]) await empty(shard, 'index_by_user')
  await looks(keeperOf(), 2)
  let failure: Error = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
  plan = ({ shard, table }) =>
    shard === 0 && table === 'tasks' ? { before: () => Promise.reject(failure) } : undefined
  expect(await readEmptiedTables(store)).toMatchObject([{ index: 'by_user', shard: 'memory 1' }])
  failure = new TypeError('A mistake.')
  await expect(readEmptiedTables(store)).rejects.toBe(failure)
})
