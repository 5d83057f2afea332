import type { CallOptions } from './call.ts'

/** Long work that outlives a process: where it stands, and who is at it. One table per shard. */
export interface TaskTable {
  /** What was saved under this name last; undefined at first. */
  load(name: string, options?: CallOptions): Promise<TaskState | undefined>
  /**
   * Takes the task for `leaseMs` by the database's clock, up to `MAX_LEASE_MS`; undefined while another owner has it. A lease
   * that ends later than twice that from now was given while the clock was ahead: it is over, here and in `load`.
   */
  claim(name: string, owner: string, leaseMs: number, options?: CallOptions): Promise<TaskState | undefined>
  /** Saves progress and prolongs the lease (0 gives it up); false when another owner has taken the task. */
  save(
    name: string,
    owner: string,
    progress: string,
    leaseMs: number,
    options?: CallOptions,
  ): Promise<boolean>
  /** As `load` of each name, in few statements: those that are there. */
  loadAll(names: readonly string[], options?: CallOptions): Promise<ReadonlyMap<string, TaskState>>
  /** As `claim` of each name, in few statements: those that were free. */
  claimAll(
    names: readonly string[],
    owner: string,
    leaseMs: number,
    options?: CallOptions,
  ): Promise<ReadonlyMap<string, TaskState>>
  /** As `save` of each name and progress, in few statements: the names that this owner still had. */
  saveAll(
    progress: ReadonlyMap<string, string>,
    owner: string,
    leaseMs: number,
    options?: CallOptions,
  ): Promise<ReadonlySet<string>>
}

export interface TaskState {
  /** As it was saved; empty at first. */
  readonly progress: string
  /** Who has the lease now; undefined when it is free. */
  readonly owner: string | undefined
}
