import type { Ground, StoreSettings } from './ground.ts'

/**
 * A process takes an irreversible step because of a commit that is visible but not durable.
 *
 * 1. Without a binary log, a server shows a commit before its redo log is on disk.
 * 2. The process reads the commit and acts on it.
 * 3. A crash undoes the commit.
 */
export interface Experiment {
  readonly name: string
  /** One sentence for the report: what happens. */
  readonly what: string
  /** Special options of its store. */
  readonly making?: StoreSettings | undefined
  /** Prepares one attempt, before the log hangs. */
  prepare(ground: Ground): Promise<Attempt>
}

export interface Attempt {
  /**
   * Runs while the log of one server hangs: makes a commit there and lets a process read it. Resolves when
   * the server may die: the process has acted on the commit, or has not done so for some seconds.
   */
  act(): Promise<void>
  /** Runs when the server is back and `act` has resolved. */
  judge(): Promise<Verdict>
}

export interface Verdict {
  /** Another session saw the commit while the log hung. */
  readonly wasSeen: boolean
  /** The commit was gone after the crash. */
  readonly wasLost: boolean
  /** Violations, in words. */
  readonly wrongs: readonly string[]
}

/** Longest time that `act` waits for the process to act. */
export const ACT_MS = 3_000
/** Time for a commit to become visible; with a binary log it never does. */
export const SEEN_MS = 700
