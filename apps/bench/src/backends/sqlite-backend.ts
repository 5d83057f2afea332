import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sqliteShards } from 'looseleaf'
import { openLooseleafSide } from '../sides/looseleaf-side.ts'
import { createPlacement } from '../sides/placement.ts'
import { openSqliteSide } from '../sides/sqlite-side.ts'
import type { Backend } from './backend.ts'
import { createCleanup } from './cleanup.ts'

/** SQLite files in a temporary folder. */
export async function openSqliteBackend(shards: number): Promise<Backend> {
  const cleanup = createCleanup()
  try {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-bench-'))
    cleanup.add(() => rm(folder, { recursive: true, force: true }))
    const looseleaf = await openLooseleafSide(sqliteShards({ folder, shards }))
    cleanup.add(() => looseleaf.close())
    const placement = createPlacement(shards, await looseleaf.store.indexes())
    const files = Array.from({ length: shards }, (_, shard) => join(folder, `shard-${shard}.sqlite`))
    const handWritten = openSqliteSide({ files, placement })
    cleanup.add(() => handWritten.close())
    return {
      name: 'sqlite',
      title: `${shards} SQLite files`,
      sides: [looseleaf, handWritten],
      server: undefined,
      facts: { shards, sqlite: sqliteVersion(), journal_mode: 'WAL', synchronous: 'FULL' },
      close: () => cleanup.run(),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

function sqliteVersion(): unknown {
  const database = new Database(':memory:')
  try {
    return database.prepare('SELECT sqlite_version()').pluck().get()
  } finally {
    database.close()
  }
}
