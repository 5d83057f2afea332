import type { Cluster, ClusterDatabase, ClusterOptions } from '../cluster/cluster.ts'
import type { Load, LoadConfig } from '../load/load.ts'
import type { WorkerConfig } from '../load/worker-config.ts'
import type { Random } from '../random.ts'
import type { Tables } from '../watch/tables.ts'

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
}

/** Numbers that a fault has to tell of itself. */
export type Facts = Record<string, number>

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
  /** True where processes stand still for a while, so that the length of a call says nothing. */
  readonly stopsProcesses?: boolean | undefined
  readonly entities?: { readonly hot: number; readonly cold: number } | undefined
  readonly config?: Partial<Omit<LoadConfig, 'folder'>> | undefined
  /** What is different for each process. */
  readonly ofProcess?: ((number: number) => Partial<WorkerConfig>) | undefined
  readonly environmentOf?: ((number: number) => NodeJS.ProcessEnv) | undefined
  /** A cluster of its own, with whatever it needs; throws `Skip` when that cannot be had. */
  readonly ownCluster?: (() => Promise<{ options: ClusterOptions; remove(): Promise<void> }>) | undefined
  /** Makes it go wrong, for as long as `amount` says; resolves when all is well again. */
  run(stage: Stage): Promise<Facts>
}

/** Thrown by a scenario that this machine cannot have. */
export class Skip extends Error {}
