import { errorCodes, type ErrorCode } from '@looseleaf/core'
import { isError } from '@looseleaf/core/internal'
import { clientFailure, lackingTable, type Fault, type TableFault } from '@looseleaf/driver-kysely/internal'

/** Meanings of SQLite's result codes. An extended code that is missing here has the meaning of its first two words. */
const faults: Readonly<Record<string, readonly [kind: TableFault | ErrorCode, message: string]>> = {
  SQLITE_CONSTRAINT_UNIQUE: ['duplicate', 'a row with this key already exists.'],
  SQLITE_CONSTRAINT_PRIMARYKEY: ['duplicate', 'a row with this key already exists.'],
  SQLITE_CONSTRAINT_ROWID: ['duplicate', 'a row with this key already exists.'],
  SQLITE_CONSTRAINT_NOTNULL: ['fence-refused', 'a NOT NULL column got no value.'],
  SQLITE_BUSY: ['SHARD_BUSY', 'another process kept the file locked until the deadline; nothing was done.'],
  SQLITE_LOCKED: ['SHARD_BUSY', 'the table is locked; nothing was done.'],
  SQLITE_CANTOPEN: [
    'SHARD_UNAVAILABLE',
    'the file cannot be opened; look at its path, the rights on its folder, and the limit of open files.',
  ],
  SQLITE_IOERR: ['SHARD_UNAVAILABLE', 'reading or writing the file failed.'],
  SQLITE_FULL: [
    'SHARD_FULL',
    'the disk is full, or the file has reached its max_page_count; nothing was written. Make room, and calls pass again.',
  ],
  SQLITE_NOTADB: ['SHARD_UNAVAILABLE', 'the file is not a SQLite database.'],
  SQLITE_CORRUPT: ['SHARD_UNAVAILABLE', 'the file is damaged.'],
  SQLITE_READONLY: [
    'SHARD_DENIED',
    'the file or its folder is read-only; give the user of this process the right to write both.',
  ],
  SQLITE_PERM: ['SHARD_DENIED', 'the file may not be used by this user.'],
  SQLITE_AUTH: ['SHARD_DENIED', 'the file may not be used by this user.'],
  SQLITE_TOOBIG: ['BODY_TOO_LARGE', 'a value is larger than SQLite takes.'],
}

/** Codes that a retry cannot cure, although their error code is retryable. */
const permanent = new Set(['SQLITE_NOTADB', 'SQLITE_CORRUPT', 'SQLITE_CANTOPEN'])

/** Returns the result code of an error of better-sqlite3, such as `SQLITE_BUSY`; undefined for any other error. */
export function resultCode(error: unknown): string | undefined {
  if (!isError(error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return error.code.startsWith('SQLITE_') ? error.code : undefined
}

/** Maps an error of better-sqlite3. SQLite runs inside the process, so after an error nothing was written. */
export function sqliteFault(error: unknown): Fault {
  const code = resultCode(error)
  if (code === undefined) {
    return {
      kind: 'STATEMENT_FAILED',
      message: 'SQLite could not run the statement.',
      cause: error,
      ...clientFailure(error),
    }
  }
  const cause = Object.assign(new Error(code), { code })
  // SQLite has no result code for a missing table.
  const missing = /^no such table: (?:main\.)?(\w+)/.exec((error as Error).message)
  if (code === 'SQLITE_ERROR' && missing !== null) {
    return { kind: 'no-table', message: 'a table is missing.', table: missing[1], cause }
  }
  // Nor for a missing column: "no such column: a", or "table a has no column named b".
  const lacking = /^(?:no such column: |table (\w+) has no column named )(?:"?\w+"?\.)*"?(\w+)/.exec(
    (error as Error).message,
  )
  if (code === 'SQLITE_ERROR' && lacking !== null) {
    const [, table, column] = lacking
    return {
      kind: 'NOT_MIGRATED',
      message: lackingTable('column', column, table === undefined ? [] : [table]),
      cause,
    }
  }
  if (code === 'SQLITE_CONSTRAINT_DATATYPE') {
    return { kind: 'STATEMENT_FAILED', message: misfitText((error as Error).message), cause }
  }
  const group = code.split('_').slice(0, 2).join('_')
  const [kind, message] = faults[code] ??
    faults[group] ?? ['STATEMENT_FAILED', `SQLite refused a statement (${code}).`]
  const retryable = kind in errorCodes && permanent.has(group) ? false : undefined
  return { kind, message, retryable, cause }
}

/** Names the column and the table of a value that does not fit. Looseleaf checks values before, so the table must have been altered. */
function misfitText(message: string): string {
  const [, table = 'unknown', column = 'unknown'] = /column (\w+)\.(\w+)$/.exec(message) ?? []
  return `the column ${column} of the table ${table} does not hold a value that Looseleaf stores in it, so the table was altered. Compare it with the output of \`looseleaf schema\`. Nothing was written.`
}
