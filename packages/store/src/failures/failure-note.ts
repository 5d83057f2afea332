import type { ErrorCode } from '@looseleaf/core'
import type { CallFailures } from './call-tally.ts'

/** Calls of one process that have failed, as it has noted them on a shard. */
export interface FailureReport {
  /** Host and process id. */
  readonly process: string
  /** When the process noted it last. */
  readonly at: Date
  /** True once the process has had no failure for a minute. */
  readonly isOver: boolean
  /** Length of the time that the note tells of, in milliseconds: a minute as a rule. */
  readonly periodMs: number
  /** Calls that ended in that time, failed ones included. */
  readonly calls: number
  /** Failures of that time, most first. A note that is over keeps the failures of the one before. */
  readonly failures: readonly CallFailures[]
}

/** A report with the key of its store, which tells stores of one process apart. */
export interface FailureNote extends FailureReport {
  readonly key: string
}

/** Task whose progress has the notes. */
export const NOTES_TASK = 'failing calls'

const MAX_PROCESSES = 20
const MAX_FAILURES = 10
const KEPT_MS = 60 * 60_000

/** The notes of a task; what cannot be read is left out. */
export function notesFromText(text: string): readonly FailureNote[] {
  if (text === '') return []
  try {
    const notes = JSON.parse(text) as unknown
    return Array.isArray(notes) ? notes.flatMap(noteOf) : []
  } catch {
    return []
  }
}

/** The notes with this one in the place of its predecessor: the newest of an hour, twenty at the most. */
export function notesToText(notes: readonly FailureNote[], own: FailureNote): string {
  // A note of a clock that was ahead would stay.
  const isRecent = (at: Date): boolean => Math.abs(own.at.getTime() - at.getTime()) < KEPT_MS
  const others = notes.filter(({ key, at }) => key !== own.key && isRecent(at))
  const newest = [own, ...others].toSorted((a, b) => b.at.getTime() - a.at.getTime()).slice(0, MAX_PROCESSES)
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
      // A later version may know more codes.
      code: code as ErrorCode,
      shard: typeof shard === 'string' ? shard : undefined,
      count,
      lastAt: typeof lastAt === 'number' ? lastAt : 0,
      message: typeof message === 'string' ? message : '',
    },
  ]
}
