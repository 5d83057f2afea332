import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { cleanIndex, sqliteShards, type DriverFactory } from '../src/index.ts'
import {
  byName,
  checkLateRecord,
  checkOtherTable,
  open,
  recordedTables,
  removeRecord,
  withDriver,
} from './entity-tables-scenario.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-entity-tables-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

const shardsWith = (entityTable?: string): DriverFactory =>
  sqliteShards({ folder, shards: 2, durability: 'normal', entityTable })

const createTables = (entityTable: string): Promise<void> =>
  withDriver(shardsWith(entityTable), async ({ shards }) => {
    for (const shard of shards) await shard.createTables()
  })

test('a process with another table of entities is refused, and creates no table', () =>
  checkOtherTable(shardsWith))

test('a store without a record of its table of entities gets it by the next migrate', () =>
  checkLateRecord(shardsWith))

test('a running process with another table of entities is refused once the table is recorded', async () => {
  const store = await open(shardsWith(), { migrate: true })
  await removeRecord(shardsWith())
  await createTables('other')
  const other = await open(shardsWith('other'))
  const { id } = await store.put({ name: 'ada' })
  await open(shardsWith(), { migrate: true })
  const refusal = { code: 'LAYOUT_MISMATCH', message: expect.stringContaining('the table other') as string }
  await expect(cleanIndex(other)).rejects.toMatchObject(refusal)
  await expect(other.put({ name: 'bob' })).rejects.toMatchObject(refusal)
  await expect(other.get(id)).rejects.toMatchObject(refusal)
  expect(await store.query(byName, { name: 'ada' })).toMatchObject({
    items: [{ id }],
    cost: { complete: true },
  })
})

/** Opens a store with two tables of entities at the same time, and checks that one of the two is refused. */
async function checkRace(): Promise<void> {
  const tables = ['entities', 'other']
  const opened = await Promise.allSettled(tables.map((table) => open(shardsWith(table), { migrate: true })))
  const refused = opened.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  expect(refused).toMatchObject([{ code: 'LAYOUT_MISMATCH' }])
  const table = tables[opened.findIndex(({ status }) => status === 'fulfilled')]
  expect(await recordedTables(shardsWith(table))).toEqual([table, table])
}

test('two processes that make a store with two tables of entities agree on one', checkRace)

test('two processes that record two tables of entities agree on one', async () => {
  await open(shardsWith(), { migrate: true })
  await removeRecord(shardsWith())
  await createTables('other')
  await checkRace()
})

test('a store keeps its own name of the table of entities, also on a shard that joins', async () => {
  const store = await open(shardsWith('pages'), { migrate: true, queryTimeMs: 500, time: leapingTime() })
  const { id } = await store.put({ name: 'ada' })
  await store.shards.add('shard-2.sqlite')
  await store.shards.drain(0)
  await store.shards.drain(1)
  const next = await open(shardsWith('pages'))
  expect(await next.get(id)).toMatchObject({ name: 'ada' })
  expect(next.context.catalog.current().shards.map((shard) => shard?.entityTable)).toEqual([
    'pages',
    'pages',
    'pages',
  ])
  // SQLite would take the last one for the same table. A server may not.
  for (const other of [undefined, 'Pages'])
    await expect(open(shardsWith(other))).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringContaining('in the table pages') as string,
    })
})

test('an empty table of entities is made where the data of a store without a record is given up', async () => {
  await open(shardsWith(), { migrate: true })
  await removeRecord(shardsWith())
  const store = await open(shardsWith('other'), { migrate: true, acceptEmptyShards: true })
  expect(await store.status()).toMatchObject({ shards: [{ entities: 0 }, { entities: 0 }] })
  expect(await recordedTables(shardsWith('other'))).toEqual(['other', 'other'])
})
