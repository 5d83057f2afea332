import { formatId, type Bag, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, unknownOutcome, withoutPauses, type Fault } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf } from '../../../test/hand-over.ts'
import { DataStore } from '../../data-store.ts'
import type { BatchUpdate } from './batch-item.ts'

/** Claims of entities near their group stand on the shard of the entity. */
const bySeat = defineIndex('by_seat', {
  properties: { group: 'uuid', seat: 'string' },
  shardOn: 'group',
  unique: true,
})
const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

let memory: Driver
let faults: Fault[]
let store: DataStore
let group: EntityId
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  faults = []
  const driver = faultyDriver(memory, ({ operation }) =>
    operation === 'writeAll' ? faults.shift() : undefined,
  )
  store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [bySeat, byMail],
    migrate: true,
    time: withoutPauses,
  })
  group = store.newId()
  a = await seated('1')
  b = await seated('2')
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

async function seated(seat: string): Promise<EntityId> {
  return (await store.insert({ group, seat }, { near: group })).id
}

const sit = (of: EntityId, seat: string): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, seat }),
})

async function holderOf(seat: string): Promise<EntityId | undefined> {
  const [found, ...others] = (await store.query(bySeat, { group, seat })).items
  expect(others).toEqual([])
  return found?.id
}

/** Returns the holders of claims by their keys, for each table of claims. */
async function claims(index: string): Promise<Record<string, string>> {
  const { indexes } = await store.status()
  const { table } = indexes.find(({ name, unique }) => name === index && unique)!
  const columns =
    index === 'by_seat'
      ? ([
          { name: 'group', type: 'uuid' },
          { name: 'seat', type: 'string' },
        ] as const)
      : ([{ name: 'mail', type: 'string' }] as const)
  const rows = await Promise.all(
    memory.shards.map((shard) =>
      shard.index({ table, columns, unique: true }).scan({ prefix: [], order: 'asc', limit: 10 }),
    ),
  )
  return Object.fromEntries(
    rows
      .flat()
      .map(({ key, entityId }) => [Buffer.from(key.at(-1) as Uint8Array).toString(), formatId(entityId)]),
  )
}

test('two entities exchange their unique keys in one batch, and the claims go with them', async () => {
  await store.batch([sit(a, '2'), sit(b, '1')])
  expect([await holderOf('1'), await holderOf('2')]).toEqual([b, a])
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 1: b, 2: a })
  await expect(store.insert({ group, seat: '2' }, { near: group })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: a,
  })
})

test('an entity takes the unique key of one that the same batch deletes or moves to a free key', async () => {
  await store.batch([sit(a, '2'), { delete: b }])
  expect([await holderOf('1'), await holderOf('2')]).toEqual([undefined, a])
  const c = await seated('3')
  await store.batch([sit(c, '2'), sit(a, '9')])
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 2: c, 9: a })
})

test('an exchange whose answer is lost takes place once', async () => {
  faults = [
    {
      after() {
        throw unknownOutcome()
      },
    },
  ]
  await store.batch([sit(a, '2'), sit(b, '1')])
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 1: b, 2: a })
})

test('an exchange that another write of an entity overtakes starts again', async () => {
  faults = [{ before: async () => void (await store.update(b, (bag) => ({ ...bag, n: 1 }))) }]
  await store.batch([sit(a, '2'), sit(b, '1')])
  expect(await store.getMany([a, b])).toMatchObject([{ seat: '2' }, { seat: '1', n: 1 }])
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 1: b, 2: a })
})

test('two items that want one unique key are DUPLICATE_KEY before anything is written', async () => {
  const c = store.newId({ near: group })
  const batch = store.batch([sit(a, '7'), { insert: { group, seat: '7' }, id: c }])
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1, holder: a, index: 'by_seat' })
  await expect(batch).rejects.toThrow(`items[0], entity ${a}, wants the same key`)
  expect(await holderOf('7')).toBeUndefined()
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 1: a, 2: b })
})

test('two entities exchange the keys of two indexes in one batch', async () => {
  const byCode = defineIndex('by_code', {
    properties: { group: 'uuid', code: 'string' },
    shardOn: 'group',
    unique: true,
  })
  await store.addIndex(byCode)
  const give = (of: EntityId, seat: string, code: string): BatchUpdate => ({
    update: of,
    edit: (bag: Bag) => ({ ...bag, seat, code }),
  })
  await store.batch([give(a, '1', 'x'), give(b, '2', 'y')])
  await store.batch([give(a, '2', 'y'), give(b, '1', 'x')])
  expect(await store.getMany([a, b])).toMatchObject([
    { seat: '2', code: 'y' },
    { seat: '1', code: 'x' },
  ])
  await store.settled()
  expect(await claims('by_seat')).toEqual({ 1: b, 2: a })
  await expect(store.batch([give(a, '2', 'x')])).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: b })
})

test('a unique key of an entity outside of the batch is DUPLICATE_KEY, and fresh entities leave no claims', async () => {
  const other = await seated('5')
  const batch = store.batch([{ insert: { group, seat: '6' } }, sit(a, '5')], { near: group })
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1, entity: a, holder: other })
  expect([await holderOf('1'), await holderOf('6')]).toEqual([a, undefined])
  await store.settled()
  expect(Object.keys(await claims('by_seat'))).not.toContain('6')
})

test('unique keys whose claims are on another shard cannot be exchanged, and the error says why', async () => {
  // The claims of mails stand on the shards of their keys, so some are on another shard than the group.
  const mails = Array.from({ length: 12 }, (_, i) => `${i}@example.com`)
  const holders = await Promise.all(
    mails.map(async (mail) => (await store.insert({ mail }, { near: group })).id),
  )
  const outcomes = new Set<string>()
  for (const [i, holder] of holders.entries()) {
    if (i % 2 === 1) continue
    const other = holders[i + 1]!
    const use = (of: EntityId, mail: string): BatchUpdate => ({ update: of, edit: () => ({ mail }) })
    const exchange = store.batch([use(holder, mails[i + 1]!), use(other, mails[i]!)])
    const outcome = await exchange.then(
      () => 'exchanged',
      (error: { code: string; message: string }) => {
        expect(error.message).toMatch(/because the claim is on another shard/)
        return error.code
      },
    )
    outcomes.add(outcome)
    const found = await store.getMany([holder, other])
    const kept = [mails[i], mails[i + 1]]
    expect(found.map((entity) => entity?.['mail'])).toEqual(
      outcome === 'exchanged' ? kept.toReversed() : kept,
    )
  }
  expect(outcomes).toContain('DUPLICATE_KEY')
})

test('entities exchange no keys while their bucket is being moved, and the error is retryable', async () => {
  group = idOn(store, 0)
  const [c, d] = [await seated('1'), await seated('2')]
  await handOverOf(memory).begin()
  await store.context.catalog.reload()
  await expect(store.batch([sit(c, '2'), sit(d, '1')])).rejects.toMatchObject({
    code: 'CONFLICT',
    item: 0,
    index: 'by_seat',
    entity: c,
    holder: d,
    retryable: true,
    message: `The batch was not written because of items[0] (update): Index by_seat: entity ${c} cannot take the key that entity ${d} gives up in the same batch while the bucket of the key is being moved.`,
  })
  expect(await store.getMany([c, d])).toMatchObject([{ seat: '1' }, { seat: '2' }])
})

test('a batch over a unique index that is being filled takes free keys, and refuses those of filled entities', async () => {
  const byCode = defineIndex('by_code', {
    properties: { group: 'uuid', code: 'string' },
    shardOn: 'group',
    unique: true,
  })
  await store.batch([
    { update: a, edit: (bag: Bag) => ({ ...bag, code: 'x' }) },
    { update: b, edit: (bag: Bag) => ({ ...bag, code: 'y' }) },
  ])
  await store.addIndex(byCode)
  const code = (of: EntityId, value: string): BatchUpdate => ({
    update: of,
    edit: (bag: Bag) => ({ ...bag, code: value }),
  })
  // No claim exists yet, so the keys are free for both.
  await store.batch([code(a, 'y'), code(b, 'x')])
  await expect(store.batch([code(a, 'x'), { check: b, ifVersion: 1 }])).rejects.toMatchObject({ item: 1 })
  await expect(store.batch([code(a, 'x')])).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: b })
  await store.batch([code(a, 'x'), code(b, 'z')])
  expect(await store.getMany([a, b])).toMatchObject([{ code: 'x' }, { code: 'z' }])
})
