import type { Step } from './explore.ts'

/**
 * One entity and one index, as stored. Keys are on two index shards: `a` and `b` on one, `c` and `d` on the
 * other.
 */
export interface World {
  /** 0 if there is no row: the entity never existed, or its tombstone was purged. */
  version: number
  /** Purge bound: tombstones up to this version may be gone. */
  purged: number
  /** Keys of the entity; empty for a tombstone or no entity. */
  keys: string[]
  /** Stamps of the index rows, by key. */
  rows: Record<string, number>
  /** Epoch of the shard; raised when the index is announced. */
  epoch: number
  /** `absent` before the index was added. */
  index: 'absent' | 'building' | 'ready'
  /** Version of the entity's pending row, which stands for deferred index rows; 0 for none. */
  pending: number
  /** Whether the second index shard is down. */
  shardDown: boolean
  /** Processes whose commit took place, and processes that were told so. */
  committed: number[]
  acknowledged: number[]
  /** True if commits reach a replica later, so that a failover can undo them. */
  lagging: boolean
  /** The entity on the replica while that lacks the last commits. */
  replica: { version: number; keys: string[]; pending: number } | undefined
}

/** Variables of a process between its statements. */
export interface Local {
  epoch: number
  index: World['index']
  base: number
  old: string[]
  version: number
  rows: Record<string, number>
  stale: string[]
  deferred: boolean
  /** Purge bound that the process knows. */
  purged: number
  /** Whether a failover can no longer undo the entity that was read. */
  replicated: boolean
}

export type Process = readonly Step<World, Local>[]

/** Guards of the protocol. The tests turn each off to show what breaks. */
export interface Guards {
  /** Law 1: rows are written before the entity. */
  readonly rowsFirst: boolean
  /** Law 1: an upsert keeps the greater stamp. */
  readonly keepGreatest: boolean
  /** Law 2: the entity is written only if its version is the one that was read. */
  readonly compareAndSwap: boolean
  /** Law 2: a writer that knows its base from memory compares the body as well as the version. */
  readonly bodyCompared: boolean
  /** Law 2: no two attempts have the same version. */
  readonly uniqueVersions: boolean
  /** Law 3: a writer deletes only rows older than its commit. */
  readonly writerDeletesOlder: boolean
  /** Law 3: a cleaner deletes only rows not later than the version that it read. */
  readonly cleanerDeletesOlder: boolean
  /** Law 3: later rows are deleted only after the entity's version was raised past them. */
  readonly fenceFirst: boolean
  /** A commit is refused if the shard's epoch differs from the writer's. */
  readonly epochFence: boolean
  /** The backfill reads after the epoch was raised. */
  readonly raiseBeforeBackfill: boolean
  /** A pending row is removed only if it is not later than the version that was read. */
  readonly drainOlder: boolean
  /**
   * A drain writes a row even if one exists, because a leftover row has an older stamp than the deferred
   * write.
   */
  readonly drainStamps: boolean
  /**
   * If a failover can undo commits, only the cleaner deletes rows, and only by a version that is replicated.
   */
  readonly deleteDelay: boolean
  /** Replication of a version is checked when it is read, not when rows are deleted because of it. */
  readonly askedWhenRead: boolean
  /** If a failover can undo commits, a pending row goes only by a version that is replicated. */
  readonly drainDelay: boolean
  /** An insert needs a version above the purge bound. */
  readonly insertAbovePurged: boolean
  /** The purge bound is raised before a tombstone is deleted. */
  readonly raiseBeforePurge: boolean
  /** A purge deletes only a tombstone within the bound. */
  readonly purgeWithinBound: boolean
  /**
   * If a failover can undo commits, an index is ready only when a failover can no longer undo the commits
   * from before its filling.
   */
  readonly fillDelay: boolean
}

export const allGuards: Guards = {
  rowsFirst: true,
  keepGreatest: true,
  compareAndSwap: true,
  bodyCompared: true,
  uniqueVersions: true,
  writerDeletesOlder: true,
  cleanerDeletesOlder: true,
  fenceFirst: true,
  epochFence: true,
  raiseBeforeBackfill: true,
  drainOlder: true,
  drainStamps: true,
  deleteDelay: true,
  askedWhenRead: true,
  drainDelay: true,
  insertAbovePurged: true,
  raiseBeforePurge: true,
  purgeWithinBound: true,
  fillDelay: true,
}

export function emptyWorld(change: Partial<World> = {}): World {
  return {
    version: 0,
    purged: 0,
    keys: [],
    rows: {},
    epoch: 1,
    index: 'ready',
    pending: 0,
    shardDown: false,
    committed: [],
    acknowledged: [],
    lagging: false,
    replica: undefined,
    ...change,
  }
}

/** Returns an entity with these keys and all of its rows. */
export function worldWith(keys: readonly string[], change: Partial<World> = {}): World {
  const rows = Object.fromEntries(keys.map((key) => [key, 10]))
  return emptyWorld({ version: 10, keys: [...keys], rows, ...change })
}

export function emptyLocal(): Local {
  return {
    epoch: 0,
    index: 'absent',
    base: 0,
    old: [],
    version: 0,
    rows: {},
    stale: [],
    deferred: false,
    purged: 0,
    replicated: false,
  }
}

/**
 * Checks the promise: a ready index finds every committed entity, unless its answer reports itself
 * incomplete.
 */
export function missingRow(world: World): string | undefined {
  if (world.index !== 'ready' || world.pending > 0) return undefined
  const missing = world.keys.find((key) => !(key in world.rows))
  return missing === undefined ? undefined : `the entity has ${missing}, the index has no row for it`
}

/** Checks that every acknowledged commit took place. */
export function falseAcknowledgement(world: World): string | undefined {
  const wrong = world.acknowledged.find((process) => !world.committed.includes(process))
  return wrong === undefined ? undefined : `P${wrong} was told of a commit that never took place`
}

/**
 * Tells whether a row of this version may be inserted: a missing row stands for a purged tombstone, whose
 * version must be lower.
 */
export function mayInsert(world: World, version: number, guards: Guards): boolean {
  return !guards.insertAbovePurged || version > world.purged
}

/** Returns a version for an attempt: greater than its base, and unique unless that guard is off. */
export function nextVersion(base: number, process: number, guards: Guards): number {
  return (Math.floor(base / 10) + 1) * 10 + (guards.uniqueVersions ? process : 0)
}

export function upsert(world: World, key: string, version: number, guards: Guards): void {
  world.rows[key] = guards.keepGreatest ? Math.max(world.rows[key] ?? 0, version) : version
}

export function onSecondShard(key: string): boolean {
  return key >= 'c'
}
