import { isMainThread } from 'node:worker_threads'
import type { ConnectOptions, Driver } from '@looseleaf/core'
import { kyselyDriver, statementTeller } from '@looseleaf/driver-kysely'
import { openDatabase, type OpenDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { modeWarnings } from './file-modes.ts'
import { rescue } from './rescue.ts'
import { sqliteFlavor } from './flavor.ts'

export interface ShardFile {
  /** For people. */
  readonly name: string
  /** A path, or `:memory:`. */
  readonly file: string
}

export interface OpenOptions extends ConnectOptions {
  readonly durability: 'full' | 'normal'
  readonly deadlineMs: number
  readonly entityTable: string
}

/** Opens all files, or none. The last one first: it tells other processes how many there will be. */
export async function openShards(files: readonly ShardFile[], options: OpenOptions): Promise<Driver> {
  const { deadlineMs, durability, entityTable, statements } = options
  const databases: OpenDatabase[] = []
  try {
    for (const { file } of files.toReversed()) {
      const synchronous = durability === 'full' ? 'FULL' : 'NORMAL'
      databases.unshift(await openDatabase({ file, synchronous, deadlineMs }))
    }
  } catch (error) {
    for (const { database } of databases) database.close()
    throw error
  }

  return kyselyDriver({
    shards: files.map(({ name, file }, number) => ({
      name,
      dialect: sqliteDialect({
        ...(databases[number] as OpenDatabase),
        deadlineMs,
        statements: statementTeller(name, statements),
      }),
      flavor: sqliteFlavor,
      entityTable,
      warnings: async () =>
        file === ':memory:'
          ? []
          : [
              ...(durability === 'normal'
                ? ["durability is 'normal': a loss of power may undo the last acknowledged writes."]
                : []),
              ...(await modeWarnings(file)),
            ],
    })),
    async closeConnections() {
      for (const [number, opened] of databases.entries()) closeDatabase(opened, files[number]!.file)
    },
  })
}

/** Databases whose files are gone. They stay reachable, so that no collection of garbage closes them. */
const abandoned = new Set<OpenDatabase['database']>()

/**
 * Closes a database, unless its files are gone: the last connection to close writes its log into the file and deletes the log by its
 * name, and others may have opened files of these names and written to them. Its handles stay open until the process ends.
 * A store that has refused calls for it leaves a copy of its data, and so does one that has lost its log alone; one whose folder was
 * deleted when nobody used it any more does not.
 */
function closeDatabase({ database, files }: OpenDatabase, file: string): void {
  if (!files.areGone()) {
    database.close()
    return
  }
  const isFileThere = files.isFileThere()
  if (files.hasRefused() || isFileThere) rescue(database, file)
  if (isFileThere) endWithoutClosing()
  abandoned.add(database)
}

let endsWithoutClosing = false

/**
 * better-sqlite3 closes the databases that are open when Node ends in order. SQLite finds a file that was moved or replaced then, but it takes
 * a log that was replaced for its own. So the process ends as `process.exit` has it: listeners of `exit` that are added later are not called. A
 * worker thread cannot end so.
 */
function endWithoutClosing(): void {
  if (endsWithoutClosing || !isMainThread) return
  endsWithoutClosing = true
  // Test runners put another function in the place of `process.exit`, which calls this one.
  const { reallyExit } = process as { readonly reallyExit?: (code: number) => never }
  process.once('exit', (code) => reallyExit?.call(process, code))
}
