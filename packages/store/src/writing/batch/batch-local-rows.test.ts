import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LooseleafError, parseId, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import type { BatchRow, StoreLayout } from '@looseleaf/core/internal'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import { bucketOfId } from '@looseleaf/router'
import {
  faultyDriver,
  keepOpen,
  unknownOutcome,
  withoutPauses,
  type Fault,
  type FaultPlan,
  type FaultyCall,
} from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { DataStoreOptions } from '../../types.ts'
import type { BatchUpdate } from './batch-item.ts'

/** The rows and claims of entities near their group stand on the shard of the entity. */
const byTag = defineIndex('by_tag', { properties: { group: 'uuid', tag: 'string' }, shardOn: 'group' })
const bySeat = defineIndex('by_seat', {
  properties: { group: 'uuid', seat: 'string' },
  shardOn: 'group',
  unique: true,
})

let driver: Driver
let plan: FaultPlan
/** Faults of the commits of batches, in their order. */
let commitFaults: Fault[]
/** Calls of the store that write. */
let writes: string[]
/** Batches as they were sent. */
let batches: (readonly BatchRow[])[]
let store: DataStore
/** Another process, without faults. */
let rival: DataStore
let group: EntityId
let a: EntityId
let b: EntityId

beforeEach(async () => {
  await open(await memoryShards(2).connect())
})
afterEach(close)

async function open(connected: Driver, options: Partial<DataStoreOptions> = {}): Promise<void> {
  driver = connected
  plan = () => undefined
  commitFaults = []
  const faulty = faultyDriver(driver, (call) => {
    if (['upsert', 'remove', 'take', 'insert', 'replace', 'writeAll'].includes(call.operation))
      writes.push(`${call.table} ${call.operation}`)
    if (call.operation === 'writeAll') batches.push(call.args[0] as readonly BatchRow[])
    return plan(call) ?? (call.operation === 'writeAll' ? commitFaults.shift() : undefined)
  })
  const indexes = [byTag, bySeat]
  const given = { shards: keepOpen(faulty), indexes, migrate: true, time: withoutPauses }
  store = await DataStore.open({ ...given, ...options })
  rival = await DataStore.open({ shards: keepOpen(driver), indexes })
  // In a bucket of shard 0.
  do group = rival.newId()
  while (bucketOfId(parseId(group)) >= 2048)
  a = (await rival.insert({ group, tag: 'a', seat: '1' }, { near: group })).id
  b = (await rival.insert({ group, tag: 'b', seat: '2' }, { near: group })).id
  writes = []
  batches = []
}

async function close(): Promise<void> {
  await store.close()
  await rival.close()
  await driver.close()
}

const change = (of: EntityId, changes: Bag): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, ...changes }),
})

const entryOf = (table: string) =>
  store.context.catalog.current().indexes.find((entry) => entry.table === table)!

/** Returns the last parts of the keys of an entity in a table, on all shards. */
async function keysIn(table: string, of: EntityId): Promise<string[]> {
  const found = await Promise.all(
    driver.shards.map((shard) => shard.rowsOf([tableSpec(entryOf(table))], [parseId(of)])),
  )
  return found.flatMap(([rows = []]) =>
    rows.map(({ key }) => Buffer.from(key.at(-1) as Uint8Array).toString()),
  )
}

const overtaken: Fault = { before: async () => void (await rival.update(b, (bag) => ({ ...bag, n: 1 }))) }

test('a batch writes its local rows and claims in one call', async () => {
  const [inserted] = await store.batch([
    { insert: { group, tag: 'c', seat: '3' } },
    change(a, { tag: 'd', seat: '4' }),
    { delete: b },
  ])
  expect(writes).toEqual(['entities writeAll'])
  const { id } = inserted
  expect([await keysIn('index_by_tag', id), await keysIn('claims_by_seat', id)]).toEqual([['c'], ['3']])
  expect(await keysIn('claims_by_seat', a)).toEqual(['4'])
  expect([await keysIn('index_by_tag', b), await keysIn('claims_by_seat', b)]).toEqual([[], []])
  expect(await keysIn('index_by_tag', a)).toContain('d')
  expect((await store.query(byTag, { group, tag: 'd' })).items).toMatchObject([{ id: a }])
})

test('the local rows and claims of a batch that has lost are not there', async () => {
  commitFaults = [overtaken]
  let tries = 0
  const edit = (bag: Bag): Bag => ({ ...bag, tag: `try ${++tries}`, seat: `try ${tries}` })
  await store.batch([{ update: a, edit }, change(b, { n: 2 })])
  expect(batches).toHaveLength(2)
  const tags = await keysIn('index_by_tag', a)
  expect([tags.includes('try 1'), tags.includes('try 2')]).toEqual([false, true])
  expect(await keysIn('claims_by_seat', a)).toEqual(['try 2'])
})

test('a batch that fails for good leaves its local rows and claims as they were', async () => {
  const { version } = await rival.update(b, (bag) => ({ ...bag, n: 0 }))
  commitFaults = [overtaken]
  const batch = store.batch([change(a, { tag: 'x', seat: '9' }), { check: b, ifVersion: version }])
  await expect(batch).rejects.toMatchObject({ code: 'VERSION_MISMATCH', item: 1 })
  expect([await keysIn('index_by_tag', a), await keysIn('claims_by_seat', a)]).toEqual([['a'], ['1']])
})

test('a batch whose answer is lost has written its local rows', async () => {
  commitFaults = [
    {
      after() {
        throw unknownOutcome()
      },
    },
  ]
  await store.batch([change(a, { tag: 'x', seat: '9' }), { delete: b }])
  expect(writes.filter((call) => !call.endsWith('remove'))).toEqual(['entities writeAll'])
  expect(await keysIn('index_by_tag', a)).toContain('x')
  expect(await keysIn('claims_by_seat', a)).toEqual(['9'])
  expect(await keysIn('index_by_tag', b)).toEqual([])
})

describe('local claims of a batch', () => {
  test('two entities exchange local keys, and a third one takes a free key in the same batch', async () => {
    const c = (await rival.insert({ group, seat: '3' }, { near: group })).id
    writes = []
    await store.batch([change(a, { seat: '2' }), change(b, { seat: '1' }), change(c, { seat: '4' })])
    const seats = await Promise.all([a, b, c].map((id) => keysIn('claims_by_seat', id)))
    expect(seats).toEqual([['2'], ['1'], ['4']])
    expect(writes.at(-1)).toBe('entities writeAll')
    expect(batches).toHaveLength(1)
  })

  test('a local key of another entity is DUPLICATE_KEY, and nothing is written', async () => {
    const other = (await rival.insert({ group, seat: '5' }, { near: group })).id
    const fresh = store.newId({ near: group })
    const batch = store.batch([
      { insert: { group, tag: 'f', seat: '6' }, id: fresh },
      change(a, { seat: '5', tag: 'x' }),
    ])
    await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1, entity: a, holder: other })
    await store.settled()
    expect([await keysIn('claims_by_seat', a), await keysIn('index_by_tag', a)]).toEqual([['1'], ['a']])
    expect(await keysIn('index_by_tag', fresh)).toEqual([])
    expect(await store.get(fresh)).toBeUndefined()
  })

  test('a batch takes over a local claim that an entity without the key has left over, and exchanges others', async () => {
    const { version } = (await rival.put({ group }, { id: b }))!
    const key = [parseId(group), Buffer.from('7')]
    const claims = driver.shards[0]!.claims(tableSpec(entryOf('claims_by_seat')))
    await claims.take([{ key, entityId: parseId(b), version }])
    const { id: c } = await rival.insert({ group, seat: '3' }, { near: group })
    const { id: d } = await rival.insert({ group, seat: '4' }, { near: group })
    await store.batch([
      change(a, { seat: '7', tag: 'x' }),
      change(c, { seat: '4' }),
      change(d, { seat: '3' }),
    ])
    const seats = await Promise.all([a, b, c, d].map((id) => keysIn('claims_by_seat', id)))
    expect(seats).toEqual([['7'], [], ['4'], ['3']])
    expect(await keysIn('index_by_tag', a)).toContain('x')
  })
})

describe('a batch that its local rows fail', () => {
  const failing =
    (isWrong: (call: FaultyCall) => boolean, undone = false): FaultPlan =>
    (call) =>
      isWrong(call)
        ? { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'On purpose.', { undone })) }
        : undefined

  test('with onIndexFailure defer the rows of a failing table are deferred, and the others written', async () => {
    await store.setPolicies({ onIndexFailure: 'defer' })
    plan = failing((call) => upsertsRows(call, 'index_by_tag'))
    const [changed] = await store.batch([change(a, { tag: 'x', seat: '9' }), { delete: b }])
    expect(changed.indexed).toBe(false)
    expect(await driver.shards[0]!.pending.tables()).toEqual(['index_by_tag'])
    expect(await keysIn('index_by_tag', a)).not.toContain('x')
    expect(await keysIn('claims_by_seat', a)).toContain('9')
  })

  test('with onIndexFailure fail the error reaches the caller, and nothing is written', async () => {
    plan = failing((call) => upsertsRows(call))
    const batch = store.batch([change(a, { tag: 'x' }), { delete: b }])
    await expect(batch).rejects.toMatchObject({ code: 'SHARD_BUSY', unknownOutcome: false })
    expect(writes).toEqual(['entities writeAll'])
    expect([await keysIn('index_by_tag', a), await keysIn('index_by_tag', b)]).toEqual([['a'], ['b']])
  })

  test("with writeOrder 'entity-first' local rows of a failing table do not fail the batch", async () => {
    await close()
    await open(await memoryShards(2).connect(), { writeOrder: 'entity-first' })
    plan = failing((call) => upsertsRows(call, 'index_by_tag'))
    const [changed] = await store.batch([change(a, { tag: 'x' }), { delete: b }])
    expect(changed.indexed).toBe(false)
    expect(await store.get(a)).toMatchObject({ tag: 'x' })
  })

  test('a batch that the database has undone is repeated with far rows', async () => {
    const hasLocal = (row: BatchRow): boolean => row.version !== undefined && row.local !== undefined
    // The first attempt with far rows meets a deadlock of its own.
    plan = failing(
      ({ operation, args }) =>
        operation === 'writeAll' && (batches.length < 3 || (args[0] as readonly BatchRow[]).some(hasLocal)),
      true,
    )
    await store.batch([change(a, { tag: 'x' }), change(b, { n: 1 })])
    const far = ['index_by_tag upsert', 'entities writeAll']
    expect(writes).toEqual(['entities writeAll', ...far, ...far])
    expect(await keysIn('index_by_tag', a)).toContain('x')
  })
})

describe('the catalog changes during a batch', () => {
  test('a batch of a stale epoch leaves no local row, and is repeated with rows in the new index', async () => {
    const byNumber = defineIndex('by_number', {
      properties: { group: 'uuid', number: 'string' },
      shardOn: 'group',
    })
    commitFaults = [{ before: async () => void (await rival.addIndex(byNumber)) }]
    let tries = 0
    const edit = (bag: Bag): Bag => ({ ...bag, tag: `try ${++tries}`, number: 'n' })
    await store.batch([{ update: a, edit }, { delete: b }])
    expect(batches).toHaveLength(2)
    const tags = await keysIn('index_by_tag', a)
    expect([tags.includes('try 1'), tags.includes('try 2')]).toEqual([false, true])
    expect(await keysIn('index_by_number', a)).toEqual(['n'])
  })

  test('a batch that began before a move was announced does not commit, and the next attempt writes both shards', async () => {
    const announce = (): Promise<unknown> =>
      changeCatalogContents(driver, ({ layout, ...contents }) => {
        const { revision, ...rest } = layout as StoreLayout
        const move = { id: 1, from: 0, to: 1, buckets: '0-2047', phase: 'both' as const }
        return { ...contents, layout: { ...rest, revision: revision + 1, moves: [move] } }
      })
    commitFaults = [{ before: async () => void (await announce()) }]
    await store.batch([change(a, { tag: 'x', seat: '9' }), change(b, { n: 1 })])
    const [first, second] = batches as [readonly BatchRow[], readonly BatchRow[]]
    expect(first[0]).toHaveProperty('local.upsert')
    expect(second[0]).not.toHaveProperty('local.upsert')
    expect((await keysIn('index_by_tag', a)).filter((tag) => tag === 'x')).toHaveLength(2)
    expect((await keysIn('claims_by_seat', a)).filter((seat) => seat === '9')).toHaveLength(2)
  })
})

test("with writeOrder 'entity-first' a batch has its local rows in the transaction, and deletes none", async () => {
  await close()
  await open(await memoryShards(2).connect(), { writeOrder: 'entity-first' })
  const [, deleted] = await store.batch([change(a, { tag: 'x' }), { delete: b }])
  expect(deleted).toBe(true)
  await store.settled()
  expect(writes).toEqual(['entities writeAll'])
  expect((await keysIn('index_by_tag', a)).toSorted()).toEqual(['a', 'x'])
  expect(await keysIn('index_by_tag', b)).toEqual(['b'])
})

test('the lost rows of an exact index go in the transaction of the batch', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-batch-'))
  try {
    await close()
    await open(await sqliteShards({ folder, shards: 1, durability: 'normal' }).connect())
    await store.batch([change(a, { tag: 'x' }), change(b, { tag: 'y' })])
    expect(await keysIn('index_by_tag', a)).toEqual(['x'])
    expect(await keysIn('index_by_tag', b)).toEqual(['y'])
    expect(writes).toEqual(['entities writeAll'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
