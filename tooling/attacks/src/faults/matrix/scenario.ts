import type { ErrorCode } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Cluster, ClusterDatabase, ClusterOptions } from '../../lab/cluster.ts'
import type { HistoryResult } from '../history/check-history.ts'
import type { ProcessHistory, SightRecord } from '../history/records.ts'
import type { Load, WorkerConfig } from '../load/load.ts'
import type { Tables } from '../watch/tables.ts'
import type { WatchResult } from '../watch/watcher.ts'

/** Everything that a fault can affect while the load runs. */
export interface Stage {
  readonly cluster: Cluster
  readonly database: ClusterDatabase
  readonly load: Load
  readonly tables: Tables
  readonly random: Random
  readonly hot: readonly string[]
  /** Number of faults, or of seconds, according to `unit`. */
  readonly amount: number
  /** Reports a violation, in words. The run counts as broken. */
  wrong(what: string): void
}

/** Figures that a fault reports. */
export type Facts = Record<string, number>

/** All records of a run. */
export interface Recorded {
  readonly histories: readonly ProcessHistory[]
  /** Final contents of the tables. */
  readonly sights: readonly SightRecord[]
  readonly watch: WatchResult
}

export interface Judgement extends HistoryResult {
  readonly facts?: Facts
}

/** A row of the matrix: a fault, and the code that causes it. */
export interface Scenario {
  readonly name: string
  /** One sentence for the report: what happens. */
  readonly what: string
  /** Unit of `amount`: `kills`, `seconds` … */
  readonly unit: string
  readonly full: number
  /** Amount of the run within the default tests; undefined if it is not part of them. */
  readonly short?: number | undefined
  /** Processes of the load. Default: 3. */
  readonly processes?: number | undefined
  readonly entities?: { readonly hot: number; readonly cold: number } | undefined
  readonly config?: Partial<WorkerConfig> | undefined
  /** Configuration of each process. */
  readonly ofProcess?: ((number: number) => Partial<WorkerConfig>) | undefined
  readonly environmentOf?: ((number: number) => NodeJS.ProcessEnv) | undefined
  /** Starts a cluster of its own; throws `Skip` if this machine cannot run it. */
  readonly ownCluster?:
    | (() => Promise<{ options?: ClusterOptions; cluster?: Cluster; remove(): Promise<void> }>)
    | undefined
  /** Buckets move, so rows may be on any shard. */
  readonly bucketsMove?: true
  /** Servers crash, so a read may see a commit that the crash undoes. */
  readonly serversCrash?: true
  /** Judges the records, if some promises do not hold under this fault. Default: all hold. */
  readonly judge?: ((recorded: Recorded) => Judgement) | undefined
  /** Facts that must be above 0, else the run did nothing. Default: the first one that `run` returns. */
  readonly needs?: readonly string[] | undefined
  /** Codes of errors that some callers must receive, else the fault reached no caller. Default: none. */
  readonly needsErrors?: readonly ErrorCode[] | undefined
  /** Causes the fault for as long as `amount` says; resolves after recovery. */
  run(stage: Stage): Promise<Facts>
  /** Runs after the last process of the load has ended, before any repair. */
  afterLoad?(stage: Stage): Promise<Facts>
}

/** Thrown by a scenario that this machine cannot run. */
export class Skip extends Error {}
