import { type CallOptions, isLooseleafError } from '@looseleaf/core'
import { type Inlined, countIn, elapsedBy, parseObject, isError, toObject } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { editTask, leadingShard } from '@looseleaf/protocol/internal'
import { addTally, emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'

/** An error of a round, which was retried. */
export type RoundError = Inlined<{
  readonly at: Date
  /** A Looseleaf error code, or the name of another error. */
  readonly code: string
  readonly message: string
}>

/** Totals of all cleaners of a store, since the first one ran. `added` counts no rows of fillings. */
export interface CleanerSummary {
  /** Time of the last save; undefined if no cleaner has run yet. */
  readonly updatedAt: Date | undefined
  readonly totals: Tally
  /** Time of the last repair: a row added or removed, or an entity fenced. */
  readonly lastFoundAt: Date | undefined
  /** Time at which a cleaner last met an entity that it could not decode. */
  readonly lastUndecodableAt: Date | undefined
  readonly lastError: RoundError | undefined
  /** Milliseconds between sweeps, as configured in the process that saved last. */
  readonly sweepEveryMs: number | undefined
}

/** Collects the counts of this process's cleaner, and adds them to the store's summary. */
export interface Reporter {
  count(tally: Tally): void
  recordError(error: unknown): void
  /** Adds the collected counts to the summary on the leading shard. Leaves them for the next call while another process saves. */
  save(options?: CallOptions): Promise<void>
  /** Counts of this process since its start. */
  readonly totals: Tally
  readonly lastError: RoundError | undefined
}

const TASK = 'clean-report'
/** Milliseconds between two saves of an unchanged summary, which show that a cleaner is alive. */
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

  function noteUndecodable(): void {
    lastUndecodableAt = context.time.now()
    hasNews = true
  }

  return {
    totals,
    get lastError() {
      return lastError
    },
    count(tally) {
      addTally(totals, tally)
      addTally(unsaved, tally)
      if (tally.undecodable > 0) noteUndecodable()
      if (tally.added + tally.removed + tally.fenced === 0) return
      lastFoundAt = context.time.now()
      hasNews = true
    },
    recordError(error) {
      // A filling throws this for an entity that it cannot decode.
      if (isLooseleafError(error, 'BODY_UNKNOWN')) noteUndecodable()
      lastError = toRoundError(error, context.time.now())
      hasNews = true
    },
    async save(options) {
      if (!hasNews && elapsed() - savedAt < QUIET_MS) return
      const { tasks } = leadingShard(context)
      let more = emptyTally()
      let isSaved = false
      try {
        isSaved = await editTask(
          tasks,
          TASK,
          (text) => {
            ;[more, unsaved] = [unsaved, more]
            // Before the save: news that come while it is on its way are for the next one.
            hasNews = false
            const summary = summaryFromText(text)
            addTally(summary.totals, more)
            return JSON.stringify({
              updatedAt: context.time.now(),
              totals: summary.totals,
              lastFoundAt: Math.max(lastFoundAt, summary.lastFoundAt?.getTime() ?? 0),
              lastUndecodableAt: Math.max(lastUndecodableAt, summary.lastUndecodableAt?.getTime() ?? 0),
              lastError: lastError ?? summary.lastError,
              sweepEveryMs,
            })
          },
          { owner, ...options },
        )
      } finally {
        if (isSaved) savedAt = elapsed()
        else {
          addTally(unsaved, more)
          hasNews = true
        }
      }
    },
  }
}

/** Reads the summary of a store; all zero if no cleaner has run yet. */
export async function readSummary(context: EngineContext, options?: CallOptions): Promise<CleanerSummary> {
  const state = await leadingShard(context).tasks.load(TASK, options)
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
  const { at, code, message } = toObject(value) ?? {}
  if (typeof at !== 'string' || typeof code !== 'string' || typeof message !== 'string') return undefined
  return { at: new Date(at), code, message }
}

function toRoundError(error: unknown, now: number): RoundError {
  const at = new Date(now)
  if (isLooseleafError(error)) return { at, code: error.code, message: error.message }
  // The message of an unknown error may contain values, so it is not stored.
  return {
    at,
    code: isError(error) ? error.name : 'Error',
    message: 'An unexpected error; see the process that runs the cleaner.',
  }
}
