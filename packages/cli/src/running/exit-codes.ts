import type { ErrorCode, LooseleafError } from '@looseleaf/core'

/** Exit codes of the command, explained in the README. A code never changes its meaning. */
export const exitCodes = {
  /** Done, without a problem. */
  ok: 0,
  /** Done, with a problem in the data: no such entity, a refused line or write, missing index rows. */
  found: 1,
  /** The command line, the configuration or an argument is wrong. The command changed nothing. */
  usage: 2,
  /** A shard could not be reached, had no room, or refused the login. The same command can succeed later. */
  unavailable: 3,
  /** The store does not fit the command: no tables, another layout, an index that is not ready, a shard that is still needed, damaged data. */
  refused: 4,
  /** An unexpected error. */
  unexpected: 70,
  /** The output could not be written in full: a full disk, or an export whose reader closed the pipe. EX_IOERR of sysexits. */
  output: 74,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Returns the exit code of an error. A conflict that stays until somebody ends its cause is no reason to try again. */
export function exitCodeOf({ code, retryable }: LooseleafError): ExitCode {
  return code === 'CONFLICT' && !retryable ? exitCodes.refused : byErrorCode[code]
}

/** Exit code for each code of `LooseleafError`. A new error code does not compile without an entry. */
const byErrorCode: Readonly<Record<ErrorCode, ExitCode>> = {
  BAD_ID: exitCodes.usage,
  BAD_PROPERTY: exitCodes.usage,
  BAD_OPTION: exitCodes.usage,
  BAD_INDEX: exitCodes.usage,
  BAD_QUERY: exitCodes.usage,
  BAD_CURSOR: exitCodes.usage,
  CHANGES_GONE: exitCodes.refused,
  INDEX_NOT_FOUND: exitCodes.usage,
  BAD_INDEX_VALUE: exitCodes.found,
  BODY_TOO_LARGE: exitCodes.found,
  ALREADY_EXISTS: exitCodes.found,
  DUPLICATE_KEY: exitCodes.found,
  NOT_FOUND: exitCodes.found,
  VERSION_MISMATCH: exitCodes.found,
  FAR_APART: exitCodes.usage,
  SCHEMA_MISMATCH: exitCodes.found,
  SOME_FAILED: exitCodes.found,
  SHARD_UNAVAILABLE: exitCodes.unavailable,
  CACHE_UNAVAILABLE: exitCodes.unavailable,
  SHARD_FULL: exitCodes.unavailable,
  SHARD_DENIED: exitCodes.unavailable,
  SHARD_BUSY: exitCodes.unavailable,
  DEADLINE: exitCodes.unavailable,
  CONFLICT: exitCodes.unavailable,
  OUTCOME_UNKNOWN: exitCodes.unavailable,
  STALE_EPOCH: exitCodes.unavailable,
  BODY_DAMAGED: exitCodes.refused,
  BODY_UNKNOWN: exitCodes.refused,
  INDEX_NOT_READY: exitCodes.refused,
  NOT_MIGRATED: exitCodes.refused,
  STORE_TOO_NEW: exitCodes.refused,
  CATALOG_DAMAGED: exitCodes.refused,
  LAYOUT_MISMATCH: exitCodes.refused,
  STATEMENT_FAILED: exitCodes.refused,
  BAD_CLOCK: exitCodes.refused,
  CLOSED: exitCodes.unexpected,
  ABORTED: exitCodes.interrupted,
}
