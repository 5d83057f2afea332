import type { ErrorCode } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import type { Cluster, ClusterDatabase, ClusterOptions } from '@looseleaf-tooling/lab/cluster'
import type { HistoryResult } from '../history/check-history.ts'
import type { ProcessHistory, SightRecord } from '../history/records.ts'
import type { Load, WorkerConfig } from '../load/load.ts'
import type { Tables } from '../watch/tables.ts'
import type { WatchResult } from '../watch/watcher.ts'

/** What a fault may take hold of, while the load goes on. */
export interface Stage {
  readonly cluster: Cluster
  readonly database: ClusterDatabase
  readonly load: Load
  readonly tables: Tables
  readonly random: Random
  readonly hot: readonly string[]
  /** How often, or for how many seconds, by what the fault's `amount` means. */
  readonly amount: number
  /** Says what must not be, in words: the run counts as broken. */
  wrong(what: string): void
}

/** Numbers that a fault has to tell of itself. */
export type Facts = Record<string, number>

/** All that was written down and looked at. */
export interface Recorded {
  readonly histories: readonly ProcessHistory[]
  /** What stood in the tables in the end. */
  readonly sights: readonly SightRecord[]
  readonly watch: WatchResult
}

export interface Judgement extends HistoryResult {
  readonly facts?: Facts
}

/** One line of the matrix: what goes wrong, and how to make it go wrong. */
export interface Scenario {
  readonly name: string
  /** For the report: what happens, in a sentence. */
  readonly what: string
  /** What `amount` counts: `kills`, `seconds` … */
  readonly unit: string
  readonly full: number
  /** For the run within the default tests; undefined: not a part of it. */
  readonly short?: number | undefined
  /** Processes of the load. Default: 3. */
  readonly processes?: number | undefined
  readonly entities?: { readonly hot: number; readonly cold: number } | undefined
  readonly config?: Partial<WorkerConfig> | undefined
  /** What is different for each process. */
  readonly ofProcess?: ((number: number) => Partial<WorkerConfig>) | undefined
  readonly environmentOf?: ((number: number) => NodeJS.ProcessEnv) | undefined
  /** A cluster of its own, with whatever it needs; throws `Skip` when that cannot be had. */
  readonly ownCluster?:
    | (() => Promise<{ options?: ClusterOptions; cluster?: Cluster; remove(): Promise<void> }>)
    | undefined
  /** Servers crash, so that a plain read may see what is undone. */
  readonly serversCrash?: true
  /** Judges what was recorded, where not everything may be demanded. Default: all is. */
  readonly judge?: ((recorded: Recorded) => Judgement) | undefined
  /** Facts that have to be above 0: else the run has done nothing. Default: the first that `run` tells. */
  readonly needs?: readonly string[] | undefined
  /** Codes of errors that some callers have to be told: else what went wrong has reached nobody. Default: none. */
  readonly needsErrors?: readonly ErrorCode[] | undefined
  /** Makes it go wrong, for as long as `amount` says; resolves when all is well again. */
  run(stage: Stage): Promise<Facts>
  /** After the last process of the load has ended, before anything is repaired. */
  afterLoad?(stage: Stage): Promise<Facts>
}

/** Thrown by a scenario that this machine cannot have. */
export class Skip extends Error {}
