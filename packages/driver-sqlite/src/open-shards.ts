import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import type { Driver } from '@looseleaf/core'
import type { ConnectOptions } from '@looseleaf/core/internal'
import { kyselyDriver } from '@looseleaf/driver-kysely'
import { statementTeller } from '@looseleaf/driver-kysely/internal'
import { openDatabase, type OpenDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { modeWarnings } from './file-modes.ts'
import { rescue } from './rescue.ts'
import { sqliteFlavor } from './flavor.ts'

export interface ShardFile {
  readonly name: string
  /** Path, or `:memory:`. */
  readonly file: string
}

export interface OpenOptions extends ConnectOptions {
  readonly durability: 'full' | 'normal'
  readonly deadlineMs: number
  readonly entityTable: string
}

/** Opens all files, or none. The last file comes first, because its number tells other processes how many there will be. */
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

/** Databases whose files are gone. The set keeps them from being garbage collected, which would close them. */
const abandoned = new Set<OpenDatabase['database']>()

/**
 * Closes a database, unless its files are gone:
 * 1. The files, or the log alone, are replaced, and another process writes to the new ones.
 * 2. The last connection to the old files closes. SQLite writes its log into the database file, and deletes the log by its name.
 * 3. That deletes the log of the other process, with its writes.
 * So the handles stay open until the process ends. A copy of the data is left if calls were rejected because the files were gone, or if
 * only the log is gone. A folder that was deleted after its last use gets no copy.
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
 * Makes the process end without closing its databases. At a normal exit better-sqlite3 closes them. SQLite then notices a database file
 * that was moved or replaced, but takes a replaced log for its own. The process ends by `reallyExit`, so listeners of `exit` that are added
 * later are not called. Does nothing in a worker thread, which cannot end the process.
 */
function endWithoutClosing(): void {
  if (endsWithoutClosing || !isMainThread) return
  endsWithoutClosing = true
  let uncaught: { readonly error: unknown } | undefined
  process.on('uncaughtExceptionMonitor', (error) => {
    const isHandled =
      process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()
    if (!isHandled) uncaught = { error }
  })
  // Test runners replace `process.exit`, which calls this function.
  const { reallyExit } = process as { readonly reallyExit?: (code: number) => never }
  process.once('exit', (code) => {
    if (reallyExit === undefined) return
    try {
      // Node prints the error that ends a process only after this event.
      if (uncaught !== undefined) writeSync(process.stderr.fd, `${inspect(uncaught.error)}\n`)
    } finally {
      // An earlier listener may have set another code. Ends the process also if nothing reads stderr any more.
      reallyExit.call(process, Number(process.exitCode ?? code))
    }
  })
}
