import { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { codeOf } from '@looseleaf/driver-kysely/internal'
import Database from 'better-sqlite3'
import { checkNativeFile } from './check-native-file.ts'
import { isBusy, pauseForLock } from './connection.ts'
import { sqliteFault } from './errors.ts'
import { makeFile } from './file-modes.ts'
import { addFunctions } from './functions.ts'
import { identityOf, noFiles, watchFiles, type OpenFiles } from './open-files.ts'

/** Milliseconds that SQLite itself waits for a lock, which blocks the process. Longer waits are pauses in the event loop. */
const BLOCKING_WAIT_MS = 2

export interface DatabaseOptions {
  /** Path, or `:memory:`. */
  readonly file: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly deadlineMs: number
}

export interface OpenDatabase {
  readonly database: Database.Database
  readonly files: OpenFiles
}

/** Opens a database with the settings of every connection. Retries a locked file until the deadline. */
export async function openDatabase({
  file,
  synchronous,
  deadlineMs,
}: DatabaseOptions): Promise<OpenDatabase> {
  checkNativeFile()
  const isFile = file !== ':memory:'
  if (isFile) await makeFile(file)
  const until = platformTime.elapsed() + deadlineMs
  for (;;) {
    let database: Database.Database | undefined
    try {
      const identity = isFile && identityOf(file)
      database = new Database(file, { timeout: BLOCKING_WAIT_MS })
      // With WAL, readers and the writer do not wait for each other.
      if (isFile) database.pragma('journal_mode = WAL')
      database.pragma(`synchronous = ${synchronous}`)
      database.defaultSafeIntegers(true)
      addFunctions(database)
      if (!isFile) return { database, files: noFiles }
      // A read makes SQLite open the files `-wal` and `-shm`, which it keeps open.
      database.pragma('user_version')
      const files = watchFiles(file)
      if (identity === identityOf(file)) return { database, files }
      // The file was replaced while it was opened.
      database.close()
    } catch (error) {
      database?.close()
      if (!isBusy(error) || platformTime.elapsed() >= until) throw openError(file, error)
    }
    await pauseForLock()
  }
}

function openError(file: string, error: unknown): LooseleafError {
  const { kind, message, ...rest } = sqliteFault(error)
  return new LooseleafError(codeOf(kind), `${file}: ${message}`, { shard: file, ...rest })
}
