import { LooseleafError, platformTime } from '@looseleaf/core'
import Database from 'better-sqlite3'
import { checkNativeFile } from './check-native-file.ts'
import { isBusy, pause } from './connection.ts'
import { sqliteFault } from './errors.ts'
import { makeFile } from './file-modes.ts'
import { identityOf, noFiles, watchFiles, type OpenFiles } from './open-files.ts'

/**
 * Milliseconds that SQLite itself may wait for a lock. It stops the whole process meanwhile, so it gets a moment only;
 * longer waits are left to the event loop.
 */
const BLOCKING_WAIT_MS = 2

export interface DatabaseOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly deadlineMs: number
}

export interface OpenDatabase {
  readonly database: Database.Database
  readonly files: OpenFiles
}

/** Opens a file with the settings that every connection has to have. */
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
      // Readers and a writer do not wait for each other.
      if (isFile) database.pragma('journal_mode = WAL')
      database.pragma(`synchronous = ${synchronous}`)
      database.defaultSafeIntegers(true)
      if (!isFile) return { database, files: noFiles }
      // Opens the files beside it, which it keeps.
      database.pragma('user_version')
      const files = watchFiles(file)
      if (identity === identityOf(file)) return { database, files }
      // Another file has come by this name meanwhile.
      database.close()
    } catch (error) {
      database?.close()
      if (!isBusy(error) || platformTime.elapsed() >= until) throw openError(file, error)
    }
    await pause(BLOCKING_WAIT_MS + Math.random() * 10)
  }
}

function openError(file: string, error: unknown): LooseleafError {
  const { kind, message, ...rest } = sqliteFault(error)
  const code =
    kind === 'duplicate' || kind === 'no-table' || kind === 'fence-refused' ? 'STATEMENT_FAILED' : kind
  return new LooseleafError(code, `${file}: ${message}`, { shard: file, ...rest })
}
