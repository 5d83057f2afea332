import { createProcesses, type Processes } from '../../lab/processes.ts'
import type { DataStoreOptions } from '@looseleaf/store'
import type { Flaw } from './flawed-driver.ts'
import type { HistoryRecord } from '../history/records.ts'
import type { StopPoint } from './stopping-driver.ts'

/** Configuration of a process of the load. */
export interface WorkerConfig {
  readonly seed: number
  readonly urls: readonly string[]
  /** Replicas of each shard. If there are any, half of all reads go to them. */
  readonly replicas?: readonly (readonly string[])[] | undefined
  /** Entities that all processes write all the time (hot), and those that they write now and then (cold). */
  readonly hot: readonly string[]
  readonly cold: readonly string[]
  /** The hot entities that share a bucket. Most of their index rows are on their shard. Default: none. */
  readonly near?: readonly string[] | undefined
  /** Concurrent callers, and the number of calls of all together; 0 means until stopped. */
  readonly clients: number
  readonly operations: number
  readonly deadlineMs: number
  readonly poolSize: number
  /** Share of puts whose body is large enough for a prepared statement. */
  readonly largeBodies?: number | undefined
  /** Write options of the stores. */
  readonly writing?:
    | Pick<
        DataStoreOptions,
        'writeOrder' | 'onIndexFailure' | 'deleteDelayMs' | 'queryTimeMs' | 'writeTimeoutMs'
      >
    | undefined
  /** Share of statements whose rows an index refuses, as if its shard were unreachable. */
  readonly refuseRows?: number | undefined
  /** Greatest delay between the scans of one query, in milliseconds. */
  readonly scansApartMs?: number | undefined
  readonly flaw?: Flaw | undefined
  /** Point of the first write at which the process sends itself SIGSTOP; see `stopping-driver.ts`. */
  readonly stopAt?: StopPoint | undefined
  /** Grace of the cleaner that the process runs. */
  readonly cleanerGraceMs?: number | undefined
  /** Offset of the process's clock. */
  readonly clockOffsetMs?: number | undefined
  /** Pause of each caller after a call, in milliseconds. */
  readonly restMs?: number | undefined
}

/** The processes that write and read the same entities. */
export type Load = Processes<WorkerConfig, HistoryRecord>

/** Creates the load. Processes write their histories into `folder`. */
export function createLoad(folder: string, common: WorkerConfig): Promise<Load> {
  return createProcesses(new URL('./worker.ts', import.meta.url), folder, common)
}
