import { createProcesses, type Processes } from '@looseleaf-tooling/lab/processes'
import type { DataStoreOptions } from '@looseleaf/store'
import type { Flaw } from './flawed-driver.ts'
import type { HistoryRecord } from '../history/records.ts'
import type { StopPoint } from './stopping-driver.ts'

/** What a process of the load is told. */
export interface WorkerConfig {
  readonly seed: number
  readonly urls: readonly string[]
  /** The replicas of each shard. Where there are any, half of all reads are from them. */
  readonly replicas?: readonly (readonly string[])[] | undefined
  /** The entities that everybody writes all the time, and those that are written now and then. */
  readonly hot: readonly string[]
  readonly cold: readonly string[]
  /** Callers at once, and calls of them all together; 0 until told to stop. */
  readonly clients: number
  readonly operations: number
  readonly deadlineMs: number
  readonly poolSize: number
  /** How often a put has a body that travels as a prepared statement. */
  readonly largeBodies?: number | undefined
  /** How the stores of the load write. */
  readonly writing?:
    | Pick<
        DataStoreOptions,
        'writeOrder' | 'onIndexFailure' | 'deleteDelayMs' | 'queryTimeMs' | 'writeTimeoutMs'
      >
    | undefined
  /** How often an index refuses the rows of a statement, as if its shard were away. */
  readonly refuseRows?: number | undefined
  /** How much later than the others one shard may be asked by a query, in milliseconds. */
  readonly scansApartMs?: number | undefined
  readonly flaw?: Flaw | undefined
  /** Sends itself SIGSTOP at this point of its first write; see `stopping-driver.ts`. */
  readonly stopAt?: StopPoint | undefined
  /** Runs a cleaner with this grace. */
  readonly cleanerGraceMs?: number | undefined
  /** What its clock is off by. */
  readonly clockOffsetMs?: number | undefined
  /** Milliseconds that each caller rests after a call. */
  readonly restMs?: number | undefined
}

/** The processes that write and read the same entities. */
export type Load = Processes<WorkerConfig, HistoryRecord>

/** `folder` is where they write their histories. */
export function createLoad(folder: string, common: WorkerConfig): Load {
  return createProcesses(new URL('./worker.ts', import.meta.url), folder, common)
}
