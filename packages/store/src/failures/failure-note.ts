import type { ErrorCode } from '@looseleaf/core'
import { parseObject } from '@looseleaf/core/internal'
import type { CallFailures } from './call-tally.ts'

/** Failed calls of one process, as noted on a shard. */
export interface FailureReport {
  /** Host and process id. */
  readonly process: string
  /** Time of the last note of the process. */
  readonly at: Date
  /** True once the process has had no failure for a minute. */
  readonly isOver: boolean
  /** Length of the reported period in milliseconds, usually a minute. */
  readonly periodMs: number
  /** Calls that ended in the period, including failed ones. */
  readonly calls: number
  /** Failures in the period, most frequent first. If `isOver`, those of the note before. */
  readonly failures: readonly CallFailures[]
}

/** A report with a key that is different for each store of a process. */
export interface FailureNote extends FailureReport {
  readonly key: string
}

/** Name of the task whose progress holds the notes. */
export const NOTES_TASK = 'failing calls'

/** Age in milliseconds up to which a note counts. A process with failing calls writes a note each minute, until it ends. */
export const NOTED_MS: number = 3 * 60_000

const MAX_PROCESSES = 20
const MAX_FAILURES = 10
const KEPT_MS = 60 * 60_000

/** Parses the notes of a task, and leaves out those that cannot be read. */
export function notesFromText(text: string): readonly FailureNote[] {
  const notes: unknown = parseObject(text)
  return Array.isArray(notes) ? notes.flatMap(noteOf) : []
}

/** Replaces the note of the same key by this one. Keeps at most 20 notes, the newest of those within an hour of this one. */
export function notesToText(notes: readonly FailureNote[], latest: FailureNote): string {
  // Drops notes of a clock that was ahead, which would stay otherwise.
  const isRecent = (at: Date): boolean => Math.abs(latest.at.getTime() - at.getTime()) < KEPT_MS
  const others = notes.filter(({ key, at }) => key !== latest.key && isRecent(at))
  const newest = [latest, ...others]
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
    .slice(0, MAX_PROCESSES)
  const stored = newest.map(({ at, failures, ...note }) => ({
    ...note,
    at: at.getTime(),
    failures: failures.slice(0, MAX_FAILURES),
  }))
  return JSON.stringify(stored)
}

function noteOf(stored: unknown): readonly FailureNote[] {
  const { key, process, at, isOver, periodMs, calls, failures } = (stored ?? {}) as Record<string, unknown>
  if (typeof key !== 'string' || typeof process !== 'string' || typeof at !== 'number') return []
  if (typeof periodMs !== 'number' || typeof calls !== 'number' || !Array.isArray(failures)) return []
  return [
    {
      key,
      process,
      at: new Date(at),
      isOver: isOver === true,
      periodMs,
      calls,
      failures: failures.flatMap(failuresOf),
    },
  ]
}

function failuresOf(stored: unknown): readonly CallFailures[] {
  const { code, shard, count, lastAt, message } = (stored ?? {}) as Record<string, unknown>
  if (typeof code !== 'string' || typeof count !== 'number') return []
  return [
    {
      // A later version may have written an unknown code.
      code: code as ErrorCode,
      shard: typeof shard === 'string' ? shard : undefined,
      count,
      lastAt: typeof lastAt === 'number' ? lastAt : 0,
      message: typeof message === 'string' ? message : '',
    },
  ]
}
