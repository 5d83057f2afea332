import type { CallOptions } from './call.ts'

/** Tasks that outlive a process: their progress and leases. One table per shard. */
export interface TaskTable {
  /** Reads the state of a task; undefined before its first `claim`. */
  load(name: string, options?: CallOptions): Promise<TaskState | undefined>
  /**
   * Takes a lease of the task for `leaseMs` by the database's clock, at most `MAX_LEASE_MS`; undefined while another owner has it.
   * A lease that ends more than twice `MAX_LEASE_MS` from now comes from a clock that was ahead, and counts as expired, here
   * and in `load`.
   */
  claim(name: string, owner: string, leaseMs: number, options?: CallOptions): Promise<TaskState | undefined>
  /** Saves progress and renews the lease; a `leaseMs` of 0 ends it. Returns false if another owner has taken the task. */
  save(
    name: string,
    owner: string,
    progress: string,
    leaseMs: number,
    options?: CallOptions,
  ): Promise<boolean>
  /** Like `load` for each name, in few statements. Returns the existing tasks. */
  loadAll(names: readonly string[], options?: CallOptions): Promise<ReadonlyMap<string, TaskState>>
  /** Like `claim` for each name, in few statements. Returns the claimed tasks. */
  claimAll(
    names: readonly string[],
    owner: string,
    leaseMs: number,
    options?: CallOptions,
  ): Promise<ReadonlyMap<string, TaskState>>
  /** Like `save` for each name and progress, in few statements. Returns the names that this owner still had. */
  saveAll(
    progress: ReadonlyMap<string, string>,
    owner: string,
    leaseMs: number,
    options?: SaveAllOptions,
  ): Promise<ReadonlySet<string>>
}

export interface SaveAllOptions extends CallOptions {
  /** Owner of the renewed leases. A save of `owner` that takes place later changes nothing. Default: `owner`. */
  readonly nextOwner?: string | undefined
}

export interface TaskState {
  /** Progress of the last `save`; empty before. */
  readonly progress: string
  /** Owner of the lease; undefined if the task is free. */
  readonly owner: string | undefined
}
