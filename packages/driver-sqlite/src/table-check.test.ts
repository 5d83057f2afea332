import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Driver, Shard } from '@looseleaf/core'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { memoryShards } from './memory-shards.ts'
import { sqliteShards } from './sqlite-shards.ts'

const OWN = ['entities', 'looseleaf_meta', 'looseleaf_tasks', 'looseleaf_pending', 'looseleaf_codec']
const spec = { table: 'ix_n', columns: [{ name: 'n', type: 'integer' }] } as const

let driver: Driver
let shard: Shard

beforeEach(async () => {
  driver = await memoryShards(1).connect()
  shard = driver.shards[0]!
})
afterEach(() => driver.close())

test('the check of an empty database names all tables as missing, and creates none', async () => {
  for (let time = 0; time < 2; time++)
    expect(await shard.checkTables!([spec])).toEqual({ missing: [...OWN, 'ix_n'], foreign: [] })
})

test('the check finds nothing to create, and nothing foreign, once the tables are made', async () => {
  await shard.createTables()
  await shard.createIndexTable(spec)
  expect(await shard.checkTables!([spec])).toEqual({ missing: [], foreign: [] })
})

test.each([
  [
    'another type',
    { columns: [{ name: 'n', type: 'number' }] },
    'n REAL (key), entity_id BLOB (key), version INTEGER',
  ],
  ['another key', { unique: true }, 'n INTEGER (key), entity_id BLOB, version INTEGER'],
  [
    'a further column',
    { covering: true },
    'n INTEGER (key), entity_id BLOB (key), version INTEGER, included BLOB',
  ],
] as const)('an index table with %s is foreign, with its columns', async (_, other, found) => {
  await shard.createIndexTable({ ...spec, ...other })
  expect(await shard.checkTables!([spec])).toEqual({
    missing: OWN,
    foreign: [{ name: 'ix_n', found, expected: 'n INTEGER (key), entity_id BLOB (key), version INTEGER' }],
  })
  await expect(shard.createIndexTable(spec)).rejects.toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringContaining(`it has ${found}; the index needs n INTEGER`),
  })
})

test('an index table that lacks the column of a further key is named as foreign', async () => {
  await shard.createTables()
  await expect(shard.createIndexTable({ ...spec, table: 'looseleaf_tasks' })).rejects.toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(/the table looseleaf_tasks exists with other columns/) as string,
  })
})

test.each(['index_n', 'Index_N'])(
  'an index whose table would be the entity table, %s, is refused',
  async (entityTable) => {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-table-check-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const other = await sqliteShards({ folder, shards: 1, entityTable }).connect()
    onTestFinished(() => other.close())
    const [first] = other.shards
    await first!.createTables()
    await expect(first!.createIndexTable({ ...spec, table: 'index_n' })).rejects.toMatchObject({
      code: 'BAD_INDEX',
      message: expect.stringMatching(/the table index_n, which has the entities .* another name/) as string,
    })
  },
)

test('a try to create a table creates none', async () => {
  for (let time = 0; time < 2; time++) await shard.tryCreateTable!()
  expect(await shard.checkTables!([{ ...spec, table: 'looseleaf_no_table' }])).toEqual({
    missing: [...OWN, 'looseleaf_no_table'],
    foreign: [],
  })
})
