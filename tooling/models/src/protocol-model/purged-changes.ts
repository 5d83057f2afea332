import type { Step } from './explore.ts'

/*
 * One entity that is deleted and whose tombstone is purged, and a follower that keeps a copy. Every statement
 * takes a tick, so `now` is a floor: later writes have later times.
 */

export interface FollowedShard {
  now: number
  /** Row of the entity; undefined once its tombstone was purged. */
  row: { updated: number; living: boolean } | undefined
  deletedAt: number
  /** Purge bound: tombstones up to this time may be gone. */
  purged: number
  /** Copy of the follower, and the place up to which it has received changes. */
  copy: boolean
  place: number
  /** Whether the follower was told to start over. */
  isTold: boolean
}

export interface FollowerLocal {
  since: number
  until: number
  page: FollowedShard['row']
}

export type FollowerProcess = readonly Step<FollowedShard, FollowerLocal>[]

/** Guards of a follower. The tests turn each off to show what breaks. */
export interface FollowGuards {
  /** The bound is raised before the tombstone is deleted. */
  readonly raiseFirst: boolean
  /** The bound is read again after a page, before the follower's place moves. */
  readonly lookAfterPage: boolean
  /** A follower without a place keeps the time of its start. */
  readonly keepBeginning: boolean
  /** A follower whose place is not past the bound is told to start over. */
  readonly refuseGap: boolean
}

export const allFollowGuards: FollowGuards = {
  raiseFirst: true,
  lookAfterPage: true,
  keepBeginning: true,
  refuseGap: true,
}

export function shardWithEntity(change: Partial<FollowedShard> = {}): FollowedShard {
  return {
    now: 2,
    row: { updated: 1, living: true },
    deletedAt: 0,
    purged: 0,
    copy: false,
    place: 0,
    isTold: false,
    ...change,
  }
}

export const emptyFollower = (): FollowerLocal => ({ since: 0, until: 0, page: undefined })

export const deletion: FollowerProcess = [
  {
    label: 'deletes the entity',
    run(shard) {
      shard.row = { updated: shard.now, living: false }
      shard.deletedAt = shard.now++
    },
  },
]

export function purgeOf(guards: FollowGuards): FollowerProcess {
  const find: Step<FollowedShard, FollowerLocal> = {
    label: 'finds the tombstone',
    run: ({ row }) => (row === undefined || row.living ? 'blocked' : undefined),
  }
  const raise: Step<FollowedShard, FollowerLocal> = {
    label: 'raises the bound',
    run(shard) {
      shard.purged = shard.deletedAt
      shard.now++
    },
  }
  const remove: Step<FollowedShard, FollowerLocal> = {
    label: 'deletes the tombstone',
    run(shard) {
      shard.row = undefined
      shard.now++
    },
  }
  return guards.raiseFirst ? [find, raise, remove] : [find, remove, raise]
}

/** Starts without a place, or at its place, and reads some pages. */
export function follower(guards: FollowGuards, pages: number): FollowerProcess {
  const refuse = (shard: FollowedShard, { since }: FollowerLocal): 'end' | undefined => {
    const known = Math.max(shard.place, guards.keepBeginning ? since : shard.now)
    if (!guards.refuseGap || shard.purged === 0 || known > shard.purged) return undefined
    shard.isTold = true
    return 'end'
  }
  const begin: Step<FollowedShard, FollowerLocal> = {
    label: 'begins',
    run(shard, local) {
      local.since = shard.place === 0 ? shard.now : 0
    },
  }
  const page = (number: number): FollowerProcess => [
    {
      label: `reads the floor for page ${number}`,
      run(shard, local) {
        local.until = shard.now++
        return refuse(shard, local)
      },
    },
    {
      label: `reads page ${number}`,
      run(shard, local) {
        const { row, place } = shard
        local.page = row && row.updated >= place && row.updated < local.until ? row : undefined
      },
    },
    {
      label: `reads the bound after page ${number}`,
      run: (shard, local) => (guards.lookAfterPage ? refuse(shard, local) : undefined),
    },
    {
      label: `takes page ${number}`,
      run(shard, local) {
        if (local.page !== undefined) shard.copy = local.page.living
        shard.place = local.until
      },
    },
  ]
  return [begin, ...Array.from({ length: pages }, (_, n) => page(n + 1)).flat()]
}

/** Checks that a follower has no copy of an entity that was deleted before its place. */
export function missedDeletion({ row, copy, place, deletedAt }: FollowedShard): string | undefined {
  const isGone = row === undefined || !row.living
  return isGone && copy && place > deletedAt ? 'the follower has missed a deletion' : undefined
}

/** Checks that a follower is not told to start over if it has seen the deletion, or never knew the entity. */
export function toldForNothing({ isTold, place, deletedAt, copy }: FollowedShard): string | undefined {
  return isTold && !copy && place > deletedAt ? 'a follower that had missed nothing was sent away' : undefined
}
