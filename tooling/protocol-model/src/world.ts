import type { Step } from './explore.ts'

/** One entity and one index, as the databases have them. Keys stand on two index shards: `a`, `b` on one, `c`, `d` on the other. */
export interface World {
  /** 0 where there is no row: there has never been an entity, or its tombstone was purged. */
  version: number
  /** Tombstones up to this version may be gone. */
  purged: number
  /** The entity's keys; none for a tombstone or no entity. */
  keys: string[]
  /** The index rows by key, with their stamps. */
  rows: Record<string, number>
  /** The shard's epoch; raised when the index is made known. */
  epoch: number
  /** `absent` before the index was added. */
  index: 'absent' | 'building' | 'ready'
  /** The version of the entity's pending row: index rows that a write deferred; 0 for none. */
  pending: number
  /** Whether the second index shard takes statements. */
  shardDown: boolean
  /** The processes whose commit took place, and those that were told so. */
  committed: number[]
  acknowledged: number[]
  /** True where commits reach a replica later, so that a failover can lose them. */
  lagging: boolean
  /** The entity as the replica has it while it has not got the last commits. */
  replica: { version: number; keys: string[]; pending: number } | undefined
}

/** What a process remembers between its statements. */
export interface Local {
  epoch: number
  index: World['index']
  base: number
  old: string[]
  version: number
  rows: Record<string, number>
  stale: string[]
  deferred: boolean
  /** The bound of the purged versions, as far as the process knows. */
  purged: number
  /** Whether the entity that was read cannot be lost by a failover any more. */
  replicated: boolean
}

export type Process = readonly Step<World, Local>[]

/** The guards of the protocol. Each can be left out, to see what breaks without it. */
export interface Guards {
  /** Law 1: rows are written before the entity. */
  readonly rowsFirst: boolean
  /** Law 1: an upsert keeps the greater stamp. */
  readonly keepGreatest: boolean
  /** Law 2: the entity is written only if its version is the one that was read. */
  readonly compareAndSwap: boolean
  /** Law 2: no two attempts have the same version. */
  readonly uniqueVersions: boolean
  /** Law 3: a writer deletes only rows older than its commit. */
  readonly writerDeletesOlder: boolean
  /** Law 3: a cleaner deletes only rows not later than the version that it read. */
  readonly cleanerDeletesOlder: boolean
  /** Law 3: later rows are deleted only after the entity's version was raised past them. */
  readonly fenceFirst: boolean
  /** A commit is refused when the shard's epoch is another than the writer's. */
  readonly epochFence: boolean
  /** The backfill reads after the epoch was raised. */
  readonly raiseBeforeBackfill: boolean
  /** A pending row is removed only if it is not later than the version that was read. */
  readonly drainOlder: boolean
  /** What is drained is written whether it seems to be there or not: a leftover has an older stamp than the deferred write's. */
  readonly drainStamps: boolean
  /** Where commits can be lost by a failover, only the cleaner deletes, knowing a version that has been replicated. */
  readonly deleteDelay: boolean
  /** Whether a version has been replicated is asked when it is read, not when something is deleted because of it. */
  readonly askedWhenRead: boolean
  /** Where commits can be lost by a failover, a pending row goes only by a version that has been replicated. */
  readonly drainDelay: boolean
  /** An insert needs a version above those that were purged. */
  readonly insertAbovePurged: boolean
  /** The bound of the purged versions is raised before a tombstone is deleted. */
  readonly raiseBeforePurge: boolean
  /** A purge deletes a tombstone within the bound, and nothing else. */
  readonly purgeWithinBound: boolean
  /** Where commits can be lost by a failover, an index is ready only when those of before its filling are out of reach. */
  readonly fillDelay: boolean
}

export const allGuards: Guards = {
  rowsFirst: true,
  keepGreatest: true,
  compareAndSwap: true,
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

/** An entity with these keys whose rows are all there. */
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

/** The promise: what is committed is found by a ready index, unless the answer says that it is not complete. */
export function missingRow(world: World): string | undefined {
  if (world.index !== 'ready' || world.pending > 0) return undefined
  const missing = world.keys.find((key) => !(key in world.rows))
  return missing === undefined ? undefined : `the entity has ${missing}, the index has no row for it`
}

/** Nobody is told of a commit that never was. */
export function falseAcknowledgement(world: World): string | undefined {
  const wrong = world.acknowledged.find((process) => !world.committed.includes(process))
  return wrong === undefined ? undefined : `P${wrong} was told of a commit that never took place`
}

/** Whether a row of this version may be inserted: it stands for a tombstone that is gone, and has to be above its version. */
export function mayInsert(world: World, version: number, guards: Guards): boolean {
  return !guards.insertAbovePurged || version > world.purged
}

/** A version for an attempt: greater than its base and, unless that guard is off, nobody else's. */
export function nextVersion(base: number, process: number, guards: Guards): number {
  return (Math.floor(base / 10) + 1) * 10 + (guards.uniqueVersions ? process : 0)
}

export function upsert(world: World, key: string, version: number, guards: Guards): void {
  world.rows[key] = guards.keepGreatest ? Math.max(world.rows[key] ?? 0, version) : version
}

export function onSecondShard(key: string): boolean {
  return key >= 'c'
}
