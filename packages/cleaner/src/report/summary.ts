import { type CallOptions, countIn, elapsedBy, isLooseleafError, parseObject, isError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { addTally, emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'

/** An error of a round, which is tried again. */
export interface RoundError {
  readonly at: Date
  /** A code of Looseleaf, or the error's name. */
  readonly code: string
  readonly message: string
}

/** What all cleaners of a store have found since the first one ran. */
export interface CleanerSummary {
  /** When it was saved last; undefined when no cleaner has run yet. */
  readonly updatedAt: Date | undefined
  readonly totals: Tally
  /** When something was added, removed or fenced last. */
  readonly lastFoundAt: Date | undefined
  /** When an entity was met last that could not be decoded. */
  readonly lastUndecodableAt: Date | undefined
  readonly lastError: RoundError | undefined
  /** How often the cleaners sweep everything, in milliseconds, as the one says that saved this. */
  readonly sweepEveryMs: number | undefined
}

/** Gathers what this process's cleaner does, and adds it to the store's summary from time to time. */
export interface Reporter {
  found(tally: Tally): void
  failed(error: unknown): void
  /** Adds what was gathered to the summary on shard 0; left for the next time while another process is at it. */
  save(options?: CallOptions): Promise<void>
  /** What this process has done. */
  readonly totals: Tally
  readonly lastError: RoundError | undefined
}

const TASK = 'clean-report'
const LEASE_MS = 5_000
/** A summary without news is saved this often, in milliseconds, as a sign of life. */
const QUIET_MS = 60_000

export function createReporter(context: EngineContext, owner: string, sweepEveryMs: number): Reporter {
  const elapsed = elapsedBy(context.time)
  const totals = emptyTally()
  let unsaved = emptyTally()
  let lastFoundAt = 0
  let lastUndecodableAt = 0
  let lastError: RoundError | undefined
  let hasNews = true
  let savedAt = -Infinity

  function metUndecodable(): void {
    lastUndecodableAt = context.time.now()
    hasNews = true
  }

  return {
    totals,
    get lastError() {
      return lastError
    },
    found(tally) {
      addTally(totals, tally)
      addTally(unsaved, tally)
      if (tally.undecodable > 0) metUndecodable()
      if (tally.added + tally.removed + tally.fenced === 0) return
      lastFoundAt = context.time.now()
      hasNews = true
    },
    failed(error) {
      // A filling ends with what it cannot read.
      if (isLooseleafError(error, 'BODY_UNKNOWN')) metUndecodable()
      lastError = toRoundError(error, context.time.now())
      hasNews = true
    },
    async save(options) {
      if (!hasNews && elapsed() - savedAt < QUIET_MS) return
      const { tasks } = shardAt(context, 0)
      const claimed = await tasks.claim(TASK, owner, LEASE_MS, options)
      if (claimed === undefined) return
      const summary = summaryFromText(claimed.progress)
      const more = unsaved
      unsaved = emptyTally()
      let isSaved = false
      try {
        addTally(summary.totals, more)
        const text = JSON.stringify({
          updatedAt: context.time.now(),
          totals: summary.totals,
          lastFoundAt: Math.max(lastFoundAt, summary.lastFoundAt?.getTime() ?? 0),
          lastUndecodableAt: Math.max(lastUndecodableAt, summary.lastUndecodableAt?.getTime() ?? 0),
          lastError: lastError ?? summary.lastError,
          sweepEveryMs,
        })
        isSaved = await tasks.save(TASK, owner, text, 0, options)
      } finally {
        if (!isSaved) addTally(unsaved, more)
      }
      if (!isSaved) return
      savedAt = elapsed()
      hasNews = false
    },
  }
}

/** What the cleaners of a store have found; all zero when none has run yet. */
export async function readSummary(context: EngineContext, options?: CallOptions): Promise<CleanerSummary> {
  const state = await shardAt(context, 0).tasks.load(TASK, options)
  return summaryFromText(state?.progress ?? '')
}

function summaryFromText(text: string): CleanerSummary {
  const value = parseObject(text) ?? {}
  return {
    updatedAt: dateIn(value, 'updatedAt'),
    totals: tallyFrom(value['totals']),
    lastFoundAt: dateIn(value, 'lastFoundAt'),
    lastUndecodableAt: dateIn(value, 'lastUndecodableAt'),
    lastError: errorFrom(value['lastError']),
    sweepEveryMs: countIn(value, 'sweepEveryMs') || undefined,
  }
}

function dateIn(value: Record<string, unknown>, name: string): Date | undefined {
  const milliseconds = countIn(value, name)
  return milliseconds === 0 ? undefined : new Date(milliseconds)
}

function errorFrom(value: unknown): RoundError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { at, code, message } = value as Record<string, unknown>
  if (typeof at !== 'string' || typeof code !== 'string' || typeof message !== 'string') return undefined
  return { at: new Date(at), code, message }
}

function toRoundError(error: unknown, now: number): RoundError {
  const at = new Date(now)
  if (isLooseleafError(error)) return { at, code: error.code, message: error.message }
  // Another error's message may hold anything, values included.
  return {
    at,
    code: isError(error) ? error.name : 'Error',
    message: 'An unexpected error; see the process that runs the cleaner.',
  }
}
