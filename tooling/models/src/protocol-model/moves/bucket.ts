import type { Step } from '../explore.ts'

/** The row of the one entity of the bucket. */
export interface BucketRow {
  /** 0 if there is no row. */
  readonly version: number
  /** 0 for a tombstone. */
  readonly content: number
  readonly updated: number
}

/** The part of a shard's own catalog row that tells what the shard serves of the bucket. */
export interface Serves {
  /** `away` after the commit; `emptied` once the rows that stayed behind may go. */
  readonly is: 'none' | 'coming' | 'owner' | 'away' | 'emptied'
  /**
   * Attempt that leaves (for an owner), comes, or is away; 0 for none. It is ten times the number of the move,
   * and the number of the attempt within the move.
   */
  readonly attempt: number
  /** True while the owner accepts no write. */
  readonly sealed: boolean
  /** Attempt by which the bucket arrived; 0 for a bucket that was here from the beginning. Stays when the bucket leaves. */
  readonly arrival: number
  /** Time of the first write here; copies are older. Stays when the bucket leaves. */
  readonly begin: number
  /** `end` of the shard from which the bucket arrived. */
  readonly sourceEnd: number
  /** Time after the last write here, of a bucket that is away. */
  readonly end: number
  /** Rows before this time were here and are gone. */
  readonly gone: number
  /** Floor of the shard at which those rows began to go. */
  readonly goneAt: number
  /** Greatest number of a move of the bucket from here that is being undone. */
  readonly undone: number
}

/** State of a shard that a crash of its server may undo. */
interface Stored {
  row: BucketRow
  serves: Serves
  epoch: number
  /** Every row before it is visible, and no later write is before it. It serves as the clock, too. */
  floor: number
  /** An insert needs at least this version, because tombstones below may be purged. */
  purged: number
}

export interface MovingShard extends Stored {
  /** Number of changes of the shard's own catalog row so far; gives the next epoch, which no crash lets come again. */
  changes: number
  restarts: number
  isDown: boolean
  /** State on disk, while some visible commit is not on disk. */
  disk: Stored | undefined
}

/** A bucket with one entity, and two shards between which the bucket moves. */
export interface MoveWorld {
  readonly shards: [MovingShard, MovingShard]
  /** State of the last commit. */
  committed: { version: number; content: number }
  /** Version of the last commit whose writer has its answer. */
  acknowledged: number
  /** Greatest version of a tombstone that was purged. */
  purgedVersion: number
  /** Whether catalogs announce the move, so that readers compare epochs. */
  announced: boolean
  /** Number of reads in flight that do not compare the epoch. */
  plainReads: number
  follower: {
    /** Every row before was handed over, or is not of this shard. */
    places: [number, number]
    /** Floors at the beginning of the follower. */
    since: [number, number]
    /** Version that was handed over last. */
    handed: number
    /** Number of times that the follower began; 0 before it begins. */
    beginnings: number
    /** Whether the name of a consumer is registered, so that a mover waits for it. */
    isNamed: boolean
    /** For a consumer: saved versions whose handler failed, and versions that the other shard has passed on; 0 for none. */
    failing: [number, number]
    passedOn: [number, number]
    /** Whether handlers fail now. */
    isFailing: boolean
    /** Number of times that another process has continued at the saved places. */
    takeovers: number
  }
  /** Statements that may arrive once more. */
  late: { commit?: LateCommit; copy?: LateCopy; discard?: LateDiscard }
  wrong: string | undefined
}

interface LateCommit {
  readonly shard: ShardNumber
  readonly epoch: number
  readonly base: number
  readonly row: Omit<BucketRow, 'updated'>
}
interface LateCopy {
  readonly shard: ShardNumber
  readonly epoch: number
  readonly row: BucketRow
}
interface LateDiscard {
  readonly shard: ShardNumber
  readonly epoch: number
  readonly before: number
}

export type ShardNumber = 0 | 1

/** Knowledge of a process of the catalog row of one shard. */
export type Known = Pick<Serves, 'is' | 'attempt' | 'arrival' | 'sealed' | 'end'> & { readonly epoch: number }

/** Variables of a process between its statements. */
export interface MoveMemory {
  known: [Known, Known]
  /** The entity as read, the version below which nothing may be read, and the bound of purged tombstones. */
  base: number
  content: number
  least: number
  purged: number
  tries: number
  /** Restarts of a server at the last statement that rests on it. */
  restarts: number
  attempt: number
  /** Epoch of the target since this attempt began there, and of the source since it is sealed. */
  targetEpoch: number
  sealEpoch: number
  /** Windows of `updated`, and their number so far. */
  from: number
  until: number
  windows: number
  isLast: boolean
  seals: number
  page: BucketRow | undefined
  body: BucketRow | undefined
  /** `updated` of the copies of this window. */
  copiedAt: number
  /** Greatest `updated` of the rows that were copied. */
  greatest: number
  /** For a follower: the catalog row of its shard, and the follower's beginnings when the page was read. */
  serves: Serves | undefined
  beginnings: number
  /** For a stream of a consumer: takeovers when it began, a change that is retried, and a failure that is not saved. */
  takeovers: number
  retried: number
  failed: number
}

export type MoveStep = Step<MoveWorld, MoveMemory>
export type MoveProcess = readonly MoveStep[]

export const NO_ROW: BucketRow = { version: 0, content: 0, updated: 0 }
const STORED: BucketRow = { version: 10, content: 1, updated: 0 }

const NOTHING: Serves = {
  is: 'none',
  attempt: 0,
  sealed: false,
  arrival: 0,
  begin: 0,
  sourceEnd: 0,
  end: 0,
  gone: 0,
  goneAt: 0,
  undone: 0,
}

function shardWith(row: BucketRow, serves: Partial<Serves>): MovingShard {
  return {
    row,
    serves: { ...NOTHING, ...serves },
    epoch: 1,
    floor: 1,
    purged: 0,
    changes: 1,
    restarts: 0,
    isDown: false,
    disk: undefined,
  }
}

export interface WorldOptions {
  /** Row of the owner, shard A. Default: a live entity. */
  readonly row?: BucketRow
  /** Row that an undone attempt has left on shard B. */
  readonly leftover?: BucketRow
}

/** Returns a world in which shard A (0) owns the bucket. */
export function moveWorld({ row = STORED, leftover = NO_ROW }: WorldOptions = {}): MoveWorld {
  return {
    shards: [shardWith(row, { is: 'owner' }), shardWith(leftover, {})],
    committed: { version: row.version, content: row.content },
    acknowledged: row.version,
    purgedVersion: 0,
    announced: false,
    plainReads: 0,
    follower: follower(1),
    late: {},
    wrong: undefined,
  }
}

/** Returns a follower that has handled nothing. */
export function follower(beginnings: number): MoveWorld['follower'] {
  return {
    places: [0, 0],
    since: [0, 0],
    handed: 0,
    beginnings,
    isNamed: beginnings > 0,
    failing: [0, 0],
    passedOn: [0, 0],
    isFailing: false,
    takeovers: 0,
  }
}

/** Variables of a process that knows the catalog rows of the beginning. */
export function noMoveMemory(): MoveMemory {
  const { shards } = moveWorld()
  return {
    known: [knownOf(shards[0]), knownOf(shards[1])],
    base: 0,
    content: 0,
    least: 0,
    purged: 0,
    tries: 0,
    restarts: 0,
    attempt: 0,
    targetEpoch: 0,
    sealEpoch: 0,
    from: 0,
    until: 0,
    windows: 0,
    isLast: false,
    seals: 0,
    page: undefined,
    body: undefined,
    copiedAt: 0,
    greatest: 0,
    serves: undefined,
    beginnings: 1,
    takeovers: 0,
    retried: 0,
    failed: 0,
  }
}

export function knownOf({ epoch, serves: { is, attempt, arrival, sealed, end } }: MovingShard): Known {
  return { epoch, is, attempt, arrival, sealed, end }
}

/** Changes what a shard serves: one UPDATE of its own catalog row. The caller compares the epoch. */
export function changeServes(shard: MovingShard, change: Partial<Serves>): void {
  shard.serves = { ...shard.serves, ...change }
  shard.changes++
  shard.epoch = shard.changes
}

/** Every visible commit of the shard is on disk. */
export function flush(shard: MovingShard): void {
  shard.disk = undefined
}

/** Notes what a crash brings back, before a commit that is visible before it is on disk. */
export function beforeCommit(shard: MovingShard): void {
  const { row, serves, epoch, floor, purged } = shard
  shard.disk ??= { row, serves, epoch, floor, purged }
}

/** Brings the state on disk back. */
export function restart(world: MoveWorld, number: ShardNumber): void {
  const shard = world.shards[number]
  const { disk } = shard
  Object.assign(shard, { ...disk, disk: undefined, restarts: shard.restarts + 1 })
  if (disk?.serves.is === 'owner') world.committed = { version: disk.row.version, content: disk.row.content }
}

/** Returns the next version of an attempt; no two processes share one. */
export const nextVersion = (base: number, process: number): number =>
  (Math.floor(base / 10) + 1) * 10 + process + 1

export const other = (shard: ShardNumber): ShardNumber => (shard === 0 ? 1 : 0)

/**
 * Returns a broken promise: two owners, an owner without the last committed state, or what a process noticed.
 */
export function brokenMove({ shards, committed, wrong }: MoveWorld): string | undefined {
  if (wrong !== undefined) return wrong
  const owners = shards.filter(({ serves }) => serves.is === 'owner')
  if (owners.length > 1) return 'two shards own the bucket'
  const [owner] = owners
  if (owner === undefined) return undefined
  const { version, content } = owner.row
  // A purge may miss the copy of a tombstone.
  const isSame = version === committed.version || (content === 0 && committed.version === 0)
  return isSame && content === committed.content
    ? undefined
    : `the owner has version ${version} instead of ${committed.version}, which was committed last`
}
