import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kyselyShard } from '@looseleaf/driver-kysely'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteDialect } from './dialect.ts'
import { sqliteFlavor } from './flavor.ts'

function openDatabase(options: Database.Options = {}): { file: string; database: Database.Database } {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-sqlite-'))
  const file = join(folder, 'shard.sqlite')
  const database = new Database(file, options)
  onTestFinished(() => {
    database.close()
    rmSync(folder, { recursive: true })
  })
  return { file, database }
}

const shardOn = (database: Database.Database) =>
  kyselyShard({
    name: 'shard',
    dialect: sqliteDialect({ database, deadlineMs: 1_000 }),
    flavor: sqliteFlavor,
  })

test('a file that may not grow is SHARD_FULL, and takes writes again once it may', async () => {
  const { database } = openDatabase()
  const shard = shardOn(database)
  await shard.createTables()
  const pages = Number(database.pragma('page_count', { simple: true }))
  database.pragma(`max_page_count = ${pages}`)
  const row = { name: 'large', owner: 'me' }
  const write = async () => {
    await shard.tasks.claim(row.name, row.owner, 1_000)
    return shard.tasks.save(row.name, row.owner, 'x'.repeat(100_000), 0)
  }
  await expect(write()).rejects.toMatchObject({
    code: 'SHARD_FULL',
    retryable: true,
    shard: 'shard',
    message: expect.stringMatching(/disk is full, or .*max_page_count; nothing was written/) as string,
  })
  database.pragma(`max_page_count = ${pages + 1_000}`)
  expect(await write()).toBe(true)
})

test('a write to a read-only file is SHARD_DENIED, with the missing rights', async () => {
  const { file, database } = openDatabase()
  await shardOn(database).createTables()
  const reader = new Database(file, { readonly: true })
  onTestFinished(() => void reader.close())
  await expect(shardOn(reader).tasks.claim('a', 'me', 1_000)).rejects.toMatchObject({
    code: 'SHARD_DENIED',
    message: expect.stringMatching(/read-only; give the user of this process the right to write/) as string,
  })
})
