import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { createCleanup } from './cleanup.ts'
import type { Server } from './server.ts'

/** Opens a temporary folder for SQLite files. A database is the file of a shard, with the name that Looseleaf expects. */
export async function openSqlite(shards: number): Promise<Server> {
  const cleanup = createCleanup()
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-bench-'))
  cleanup.add(() => rm(folder, { recursive: true, force: true }))
  let created = 0
  return {
    kind: 'sqlite',
    title: `${shards} SQLite ${shards === 1 ? 'file' : 'files'}`,
    facts: { shards, sqlite: sqliteVersion(), journal_mode: 'WAL', synchronous: 'FULL' },
    meter: undefined,
    async createDatabases() {
      const subfolder = join(folder, String(created++))
      await mkdir(subfolder)
      return Array.from({ length: shards }, (_, shard) => join(subfolder, `shard-${shard}.sqlite`))
    },
    async dropDatabases([first]) {
      if (first !== undefined) await rm(dirname(first), { recursive: true, force: true })
    },
    async bytesOf([first]) {
      const subfolder = dirname(first as string)
      const sizes = (await readdir(subfolder)).map(async (name) => (await stat(join(subfolder, name))).size)
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    },
    close: () => cleanup.run(),
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
