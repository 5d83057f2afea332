import type { Ground, StoreSettings } from './ground.ts'

/**
 * Somebody draws a conclusion that cannot be taken back from a commit that others can see and no disk has: a server
 * shows commits before their log is written, unless it keeps a binary log. The crash that follows undoes the commit.
 */
export interface Experiment {
  readonly name: string
  /** For the report: what happens, in a sentence. */
  readonly what: string
  /** What is special about its store. */
  readonly making?: StoreSettings | undefined
  /** Sets up one go at it, while all is well. */
  prepare(ground: Ground): Promise<Attempt>
}

export interface Attempt {
  /**
   * While the log of one server hangs: makes a commit there, and brings somebody to believe it. Resolves when the server may
   * die: he does believe it, or still does not after some seconds.
   */
  act(): Promise<void>
  /** When the server is back, and `act` is over. */
  judge(): Promise<Verdict>
}

export interface Verdict {
  /** Somebody else has seen the commit while the log hung. */
  readonly wasSeen: boolean
  /** It was gone after the crash. */
  readonly wasLost: boolean
  /** What must not be, in words. */
  readonly wrongs: readonly string[]
}

/** So long somebody is tempted. */
export const ACT_MS = 3_000
/** So long a commit has to become visible; where there is a binary log it does not. */
export const SEEN_MS = 700
