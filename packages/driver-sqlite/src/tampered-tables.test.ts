import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Driver, Shard } from '@looseleaf/core'
import { catalogOf, initShard } from '@looseleaf-tooling/kit/catalogs'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sqliteShards } from './sqlite-shards.ts'

const catalog = catalogOf()

let folder: string
let driver: Driver
let shard: Shard
let other: Database.Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-tampered-'))
  driver = await sqliteShards({ folder }).connect()
  shard = driver.shards[0]!
  await initShard(shard)
  other = new Database(join(folder, 'shard-0.sqlite'))
})
afterEach(async () => {
  other.close()
  await driver.close()
  rmSync(folder, { recursive: true })
})

const entry = { name: 'a', table: 'ix_a', state: 'ready', generation: 1, properties: [{ name: 'a' }] }
const move = { id: 1, from: 0, to: 1, buckets: '7-9', phase: 'both' }
const motion = { move: 1, attempt: 1, buckets: '7-9' }

test.each([
  ['of invalid JSON', '{', 'not a JSON object'],
  ['without text', '', 'not a JSON object'],
  ['of null', 'null', 'not a JSON object'],
  ['of a list', '[]', 'not a JSON object'],
  ['of a number', '5', 'not a JSON object'],
  ['of an empty object', '{}', 'no storeId'],
  ['without indexes', JSON.stringify({ ...catalog, indexes: undefined }), 'no indexes'],
  [
    'with an entry that is no index',
    JSON.stringify({ ...catalog, indexes: [{ ...entry, table: 5 }] }),
    'not an index',
  ],
  ...[
    [],
    { revision: 0 },
    { revision: 0, shards: [{ buckets: '0-4095' }] },
    { revision: 0, shards: [null] },
  ].map((layout): [string, string, string] => [
    `with the layout ${JSON.stringify(layout)}`,
    JSON.stringify({ ...catalog, layout }),
    'its layout or its moves are damaged',
  ]),
  ...[
    { moves: {} },
    { moves: [{ ...move, id: 'm7' }] },
    { moves: [{ ...move, buckets: '9-7' }] },
    { moves: [{ ...move, phase: 'done' }] },
  ].map((fields): [string, string, string] => [
    `with a layout with ${JSON.stringify(fields)}`,
    JSON.stringify({ ...catalog, layout: { revision: 1, shards: [], ...fields } }),
    'its layout or its moves are damaged',
  ]),
  ...[
    {},
    { owns: '0-' },
    { owns: '', leaving: {} },
    { owns: '', leaving: [{ ...motion, to: 1, sealed: '2,1' }] },
    { owns: '', away: [{ ...motion, to: 1 }] },
    { owns: '', coming: [{ ...motion, from: 1 }] },
    { owns: '', coming: [{ ...motion, from: 1, afterAddedId: 0, attempt: '1' }] },
    { owns: '', arrived: [{ ...motion, from: 1, afterAddedId: 0, end: 5 }] },
    { owns: '', arrived: [null] },
  ].map((serves): [string, string, string] => [
    `with the buckets ${JSON.stringify(serves)} of its own`,
    JSON.stringify({ ...catalog, serves }),
    'its `serves` is damaged',
  ]),
  [
    'with a contentsEpoch of text',
    JSON.stringify({ ...catalog, contentsEpoch: '5' }),
    'its contentsEpoch is',
  ],
  [
    'with a table of entities without a name',
    JSON.stringify({ ...catalog, entityTable: 5 }),
    'its entityTable is no name',
  ],
  ['with an entry of null', JSON.stringify({ ...catalog, indexes: [null] }), 'not an index'],
])(
  'a catalog %s is CATALOG_DAMAGED, with its shard and the remedy, and `init` does not replace it',
  async (_, text, flaw) => {
    other.prepare('UPDATE looseleaf_meta SET catalog = ?').run(text)
    await expect(shard.catalog.load()).rejects.toMatchObject({
      code: 'CATALOG_DAMAGED',
      shard: 'shard-0.sqlite',
      message: expect.stringMatching(
        new RegExp(`^shard-0.sqlite: the catalog in looseleaf_meta .*${flaw}.*from a backup`),
      ) as string,
    })
    expect(await shard.catalog.init(catalog)).toBe(false)
    expect(other.prepare('SELECT catalog FROM looseleaf_meta').get()).toEqual({ catalog: text })
  },
)

test('a catalog of a later format is returned unchanged, for the check of its format', async () => {
  other.prepare('UPDATE looseleaf_meta SET catalog = ?').run('{"format":2}')
  expect(await shard.catalog.load()).toEqual({ format: 2, epoch: 1 })
})

test.each([
  ['looseleaf_tasks', () => shard.tasks.load('a')],
  ['looseleaf_pending', () => shard.pending.tables()],
  ['looseleaf_codec', () => shard.codecEntries.all()],
  [
    'looseleaf_meta',
    () => shard.entities.insert([{ id: Buffer.alloc(16), version: 1, body: Buffer.from('b') }], { epoch: 1 }),
  ],
])('the error for a missing table names it, with the remedy: %s', async (table, ask) => {
  other.exec(`DROP TABLE ${table}`)
  await expect(ask()).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringMatching(new RegExp(`the table ${table} is missing.*looseleaf init`)) as string,
  })
})

test.each(['purged_updated', 'purged_version'])(
  'a catalog table without the column %s is rejected',
  async (column) => {
    other.exec(`ALTER TABLE looseleaf_meta DROP COLUMN ${column}`)
    await expect(shard.entities.floor()).rejects.toMatchObject({
      code: 'NOT_MIGRATED',
      message: expect.stringContaining(`a table lacks the column ${column} that`) as string,
    })
  },
)

test('the error for a table without a column names both', async () => {
  other.exec('ALTER TABLE looseleaf_codec DROP COLUMN kind')
  const added = shard.codecEntries.add([{ id: 'a', kind: 'shape', bytes: Buffer.from('b') }])
  await expect(added).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('the table looseleaf_codec lacks the column kind that') as string,
  })
})
