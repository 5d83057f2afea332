import { writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { inspect } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { badOption, getOrInsert, shorten, type ConnectOptions } from '@looseleaf/core/internal'
import { kyselyDriver } from '@looseleaf/driver-kysely'
import { statementTeller } from '@looseleaf/driver-kysely/internal'
import type { KyselyShardOptions } from '@looseleaf/driver-kysely'
import { openDatabase, type OpenDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { isFile, makeFile, modeWarnings, takesFiles } from './file-modes.ts'
import { createFileSnapshots, type FileSnapshots } from './open-snapshot.ts'
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

/**
 * Opens all files, or none. The last file comes first, because its number tells other processes how many there will be. `fileAt` finds the
 * file of an address, for `Driver.shardAt`; such a file is opened at the first statement, and created by `createTables` alone.
 */
export async function openShards(
  files: readonly ShardFile[],
  options: OpenOptions,
  fileAt?: (address: string | object) => ShardFile,
): Promise<Driver> {
  const { deadlineMs, durability, entityTable, statements } = options
  const settings = { synchronous: durability === 'full' ? 'FULL' : 'NORMAL', deadlineMs } as const
  let opened: readonly (ShardFile & { readonly database: OpenDatabase })[] = []
  const open = async ({ name, file }: ShardFile): Promise<OpenDatabase> => {
    const database = await openDatabase({ file, ...settings })
    opened = [...opened, { name, file, database }]
    return database
  }
  const told = (name: string) => ({ deadlineMs, statements: statementTeller(name, statements) })
  /** By the path of the file. A database in memory has none, because only its own connection sees it. */
  const snapshots = new Map<string, FileSnapshots>()
  const snapshotsOf = ({ name, file }: ShardFile): FileSnapshots => {
    const made = createFileSnapshots(async () => {
      await requireFile(name, file)
      const reader = await openDatabase({ file, ...settings })
      const ofShard = opened.find((each) => each.file === file)?.database.files ?? reader.files
      try {
        ofShard.check(true)
      } catch (error) {
        reader.database.close()
        throw error
      }
      return { database: reader.database, files: ofShard, ...told(name) }
    })
    snapshots.set(file, made)
    return made
  }
  const shardOf = (
    { name, file }: ShardFile,
    dialect: Parameters<typeof sqliteDialect>[0],
  ): Omit<KyselyShardOptions, 'gate'> => ({
    name,
    dialect: sqliteDialect(dialect),
    flavor: sqliteFlavor,
    entityTable,
    ...(file !== ':memory:' && { openSnapshot: snapshotsOf({ name, file }).open }),
    warnings: () => warningsOf(file, durability),
  })

  const shards: Omit<KyselyShardOptions, 'gate'>[] = []
  try {
    for (const { name, file } of files.toReversed())
      shards.unshift(shardOf({ name, file }, { ...(await open({ name, file })), ...told(name) }))
  } catch (error) {
    for (const { database } of opened) database.database.close()
    throw error
  }
  const driver = kyselyDriver({
    shards,
    databaseAt:
      fileAt &&
      ((address) => {
        const { name, file } = fileAt(address)
        return {
          name,
          open: () =>
            shardOf({ name, file }, async () => {
              await requireFile(name, file)
              return { ...(await open({ name, file })), ...told(name) }
            }),
        }
      }),
    async disconnect(name) {
      const left = opened.filter((each) => each.name === name)
      opened = opened.filter((each) => each.name !== name)
      // The data of a removed shard is not needed, so its files may be gone.
      for (const { file, database } of left) {
        snapshots.get(file)?.close()
        if (database.files.areGone()) abandoned.add(database.database)
        else database.database.close()
      }
    },
    async closeConnections() {
      for (const { file, database } of opened) {
        snapshots.get(file)?.close()
        closeDatabase(database, file)
      }
    },
  })
  return fileAt === undefined ? driver : withNewFiles(driver, fileAt)
}

/** Makes `createTables` create a missing file of a shard that is found by its address. */
function withNewFiles(driver: Driver, fileAt: (address: string | object) => ShardFile): Driver {
  const made = new Map<Shard, Shard>(driver.shards.map((shard) => [shard, shard]))
  return {
    ...driver,
    shardAt(address) {
      const { name, file } = fileAt(address)
      return getOrInsert(made, driver.shardAt!(address), (found) => ({
        ...found,
        async createTables(call) {
          if (!(await isFile(file))) requireEnding(name)
          await makeFile(file)
          if (!(await isFile(file))) throw cannotCreate(name, file)
          await found.createTables(call)
        },
      }))
    },
  }
}

/** Throws `BAD_OPTION` for the name of a new file without the ending of all others: it may be a mistake, such as an address of a server. */
function requireEnding(name: string): void {
  if (name.endsWith('.sqlite')) return
  const given = JSON.stringify(shorten(name, 80))
  throw badOption(`The file of a new SQLite shard ends in .sqlite, such as shard-2.sqlite; got ${given}.`)
}

/**
 * Throws `NOT_MIGRATED` for a missing file: an address of another program may be a mistake, and must not become an empty database. Throws
 * `SHARD_UNAVAILABLE` if it cannot be created either, and `BAD_OPTION` for a name that no file of a shard gets.
 */
async function requireFile(name: string, file: string): Promise<void> {
  if (await isFile(file)) return
  requireEnding(name)
  if (!(await takesFiles(dirname(file)))) throw cannotCreate(name, file)
  throw new LooseleafError('NOT_MIGRATED', `${name}: there is no such file.`, { shard: name })
}

function cannotCreate(name: string, file: string): LooseleafError {
  return new LooseleafError(
    'SHARD_UNAVAILABLE',
    `${name}: the file ${file} cannot be created. Its folder has to exist, and this process has to be allowed to write there.`,
    { shard: name, retryable: false },
  )
}

async function warningsOf(file: string, durability: OpenOptions['durability']): Promise<readonly string[]> {
  if (file === ':memory:') return []
  return [
    ...(durability === 'normal'
      ? ["durability is 'normal': a loss of power may undo the last acknowledged writes."]
      : []),
    ...(await modeWarnings(file)),
  ]
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
