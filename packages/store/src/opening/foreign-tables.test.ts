import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let folder: string
const stores: DataStore[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-foreign-tables-'))
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  await rm(folder, { recursive: true })
})

async function open(): Promise<DataStore> {
  const shards = sqliteShards({ folder, shards: 1 })
  const store = await DataStore.open({ shards, indexes: [byName], migrate: true })
  stores.push(store)
  return store
}

/** Runs statements in a file that no driver has open. */
function change(file: string, statements: string): readonly string[] {
  const database = new DatabaseSync(join(folder, file))
  database.exec(statements)
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  database.close()
  return tables.map(({ name }) => String(name))
}

const foreign = {
  entities: {
    made: 'CREATE TABLE entities (id INT PRIMARY KEY, name TEXT)',
    message:
      'the table entities is not one of Looseleaf: it has the columns id INT (key), name TEXT, and Looseleaf needs added_id INTEGER (key), id BLOB, updated INTEGER, version INTEGER, body BLOB',
  },
  looseleaf_tasks: {
    made: 'CREATE TABLE looseleaf_tasks (name TEXT, progress TEXT, owner TEXT, lease_until INTEGER)',
    message:
      'it has the columns name TEXT, progress TEXT, owner TEXT, lease_until INTEGER, and Looseleaf needs name TEXT (key)',
  },
  index_by_name: {
    made: 'CREATE TABLE index_by_name (name BLOB, entity_id BLOB, version INTEGER, PRIMARY KEY (name))',
    message: 'needs name BLOB (key), entity_id BLOB (key), version INTEGER',
  },
}
const names = ['entities', 'looseleaf_tasks', 'index_by_name'] as const

test.each(names)('a new store refuses a database with a table %s of another program', async (name) => {
  change('shard-0.sqlite', foreign[name].made)
  await expect(open()).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringContaining(foreign[name].message) as string,
  })
  expect(change('shard-0.sqlite', '')).toEqual([name])
})

test.each(names)('a shard with a table %s of another program cannot join', async (name) => {
  const store = await open()
  change('shard-1.sqlite', foreign[name].made)
  for (const dryRun of [true, false]) {
    await expect(store.shards.add('shard-1.sqlite', { dryRun })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(
        /Nothing was changed\. Rename such tables, or give an empty database\.$/,
      ),
    })
    await expect(store.shards.add('shard-1.sqlite', { dryRun })).rejects.toThrow(foreign[name].message)
  }
  expect(await store.shards.list()).toHaveLength(1)
})

test('an index table that an attempt with another definition left is named as one', async () => {
  change('shard-0.sqlite', 'CREATE TABLE index_by_name (name INTEGER, entity_id BLOB, version INTEGER)')
  const left =
    'the table index_by_name is not one of Looseleaf, or was left by an earlier attempt to create an index of this name with another definition: it has the columns name INTEGER, '
  await expect(open()).rejects.toThrow(left)
  change('shard-0.sqlite', 'DROP TABLE index_by_name')
  const store = await open()
  change('shard-1.sqlite', foreign.index_by_name.made)
  await expect(store.shards.add('shard-1.sqlite')).rejects.toThrow('by an earlier attempt')
})

test('all tables of other programs are named at once', async () => {
  const store = await open()
  change('shard-1.sqlite', `${foreign.entities.made}; ${foreign.index_by_name.made}`)
  await expect(store.shards.add('shard-1.sqlite', { dryRun: true })).rejects.toThrow(
    /it cannot join, for 2 reasons\. 1\. the table entities .*\. 2\. the table index_by_name /,
  )
})

test('tables of another program under other names do no harm', async () => {
  const others = 'CREATE TABLE people (id INT); CREATE TABLE index_of_people (id INT)'
  change('shard-0.sqlite', others)
  const store = await open()
  change('shard-1.sqlite', others)
  expect(await store.shards.add('shard-1.sqlite')).toMatchObject({ number: 1, added: true })
})

test('a store whose tables lack a column of a later version opens, and its shards are members', async () => {
  const store = await open()
  await store.shards.add('shard-1.sqlite')
  await stores.pop()!.close()
  for (const file of ['shard-0.sqlite', 'shard-1.sqlite'])
    change(file, 'ALTER TABLE looseleaf_codec DROP COLUMN added')
  const opened = await open()
  expect(await opened.shards.add('shard-1.sqlite', { dryRun: true })).toMatchObject({ number: 1 })
  await opened.put({ name: 'one' })
  expect(await opened.count(byName, { name: 'one' })).toBe(1)
})
