import type { Event, Step } from '../explore.ts'

/** Guards of the attempts of a move. The tests turn each off to show what breaks. */
export interface AttemptGuards {
  /** A number is above all earlier ones, because it follows the epoch of the source. Otherwise it is above those of the records that are left. */
  readonly numbersFollowTheEpoch: boolean
  /** A target deletes leftovers only under the epoch of their attempt. */
  readonly deletesNeedTheEpoch: boolean
}

export const allAttemptGuards: AttemptGuards = {
  numbersFollowTheEpoch: true,
  deletesNeedTheEpoch: true,
}

/** Sets of the two buckets, as bits. */
export const NONE = 0
export const BOTH = 0b11

export interface Attempt {
  readonly number: number
  readonly buckets: number
}

/** A record of a bucket that the source has given up. */
export interface Departure {
  readonly number: number
  /** Bucket of the last copy; undefined if there was none since the target began with the bucket before. */
  readonly last?: number
}

export interface Source {
  readonly leaving: Attempt | null
  readonly away: readonly (Departure | null)[]
}

export interface Target {
  readonly epoch: number
  readonly coming: Attempt | null
  readonly serves: number
  /** Versions of the entities, one for each bucket; 0 if there is none. */
  readonly versions: readonly number[]
}

/** A move of two buckets with one entity each. The source has version 1 of both. */
export interface NumberWorld {
  /** Last acknowledged versions. */
  acknowledged: number[]
  source: Source
  target: Target
  /** Another state of the target, to which it fails over, and back. */
  other: Target
  epochs: number
  /** Changes of the attempt at the source, each of which raises its epoch. */
  changes: number
}

export interface NumberMemory {
  /** The last attempt that has begun at the target. */
  known: number
  isCleared: boolean
  /** Set once the copies are complete. The next attempt compares them. */
  isCopied: boolean
  hasDeleted: boolean
  last: number | null
  attempt: Attempt
  lost: number
  epoch: number
}

export type NumberStep = Step<NumberWorld, NumberMemory>

export const noNumberMemory = (): NumberMemory => ({
  known: 0,
  isCleared: false,
  isCopied: false,
  hasDeleted: false,
  last: null,
  attempt: { number: 0, buckets: NONE },
  lost: NONE,
  epoch: 0,
})

/**
 * Returns a world whose source has given both buckets up. The target has the copies, and its other server lacks them. A mover found the target
 * without the copies, and has begun an attempt at the source.
 */
export function numberWorld(): NumberWorld {
  const target: Target = { epoch: 1, coming: { number: 1, buckets: BOTH }, serves: NONE, versions: [1, 1] }
  const gone: Departure = { number: 1, last: 1 }
  return {
    acknowledged: [1, 1],
    source: { leaving: { number: 2, buckets: BOTH }, away: [gone, gone] },
    target,
    other: { ...target, versions: [0, 0] },
    epochs: 1,
    changes: 2,
  }
}

export const bitOf = (bucket: number): number => 1 << bucket
export const has = (buckets: number, bucket: number): boolean => (buckets & bitOf(bucket)) !== 0
export const without = (buckets: number, some: number): number => buckets & ~some

export const awayOf = ({ away }: Source): number =>
  away.reduce((buckets, record, bucket) => buckets | (record === null ? 0 : bitOf(bucket)), NONE)

export const hasLast = ({ versions }: Target, last: number | null | undefined): boolean =>
  last === null || last === undefined || versions[last]! > 0

export function changeSource(world: NumberWorld, change: Partial<Source>): void {
  world.source = { ...world.source, ...change }
}

/** Changes the catalog of the target. An epoch is never given twice, because it follows the clock. */
export function changeTarget(world: NumberWorld, change: Partial<Target>): void {
  world.target = { ...world.target, ...change, epoch: ++world.epochs }
}

/** Lets the target fail over to its other server. Writes that this lacks are lost. */
export const failover: Event<NumberWorld> = {
  label: 'the target fails over',
  possible: () => true,
  happen(world) {
    const { target, other } = world
    world.target = other
    world.other = target
    world.acknowledged = other.versions.map((version, bucket) => (has(other.serves, bucket) ? version : 1))
  },
}

/** Writes an entity once the target serves it. */
export function numberWriter(bucket: number): NumberStep[] {
  return [
    {
      label: `writes the entity of bucket ${bucket}`,
      run(world) {
        const { target } = world
        if (!has(target.serves, bucket)) return 'blocked'
        world.target = { ...target, versions: target.versions.with(bucket, 2) }
        world.acknowledged[bucket] = 2
        return undefined
      },
    },
  ]
}

/** Lets the target begin with what was handed over, if it has that attempt and its last copy. */
export function beginTarget(world: NumberWorld): void {
  const { coming } = world.target
  if (coming === null) return
  const due = [0, 1].filter((bucket) => {
    const record = world.source.away[bucket]
    if (record?.number !== coming.number) return false
    return has(coming.buckets, bucket) && hasLast(world.target, record.last)
  })
  for (const bucket of due) begin(world, bucket)
}

export function begin(world: NumberWorld, bucket: number): void {
  const { coming, serves } = world.target
  const rest = without(coming!.buckets, bitOf(bucket))
  changeTarget(world, {
    serves: serves | bitOf(bucket),
    coming: rest === NONE ? null : { ...coming!, buckets: rest },
  })
}

/** Returns a broken promise: a target that serves a bucket without what was acknowledged. */
export function brokenNumber({ target, acknowledged }: NumberWorld): string | undefined {
  const lost = acknowledged.findIndex(
    (version, bucket) => has(target.serves, bucket) && target.versions[bucket] !== version,
  )
  return lost === -1 ? undefined : `the target serves bucket ${lost} without its last state`
}
