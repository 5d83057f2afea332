import type { Step } from './explore.ts'

/*
 * One entity of a shard, which is deleted and whose tombstone is purged, and a follower of the changes who keeps a copy. Every statement
 * takes a tick of the time, so `now` is a floor: what is written later has a later time.
 */

export interface FollowedShard {
  now: number
  /** The entity's row; undefined once its tombstone was purged. */
  row: { updated: number; living: boolean } | undefined
  deletedAt: number
  /** Tombstones up to this time may be gone. */
  purged: number
  /** The follower's copy, and the place up to which it was given changes. */
  copy: boolean
  place: number
  /** Whether it was told to begin again. */
  isTold: boolean
}

export interface FollowerLocal {
  since: number
  until: number
  page: FollowedShard['row']
}

export type FollowerProcess = readonly Step<FollowedShard, FollowerLocal>[]

/** Each can be left out, to see what breaks without it. */
export interface FollowGuards {
  /** The bound is raised before the tombstone is deleted. */
  readonly raiseFirst: boolean
  /** The bound is read once more after a page, before its place counts. */
  readonly lookAfterPage: boolean
  /** A follower that begins with nothing keeps the time when it began. */
  readonly keepBeginning: boolean
  /** A follower that is not beyond the bound is told to begin again. */
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

/** Begins with nothing, or where it was, and takes some pages. */
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

/** A follower that was given everything up to a place has no entity that was deleted before. */
export function missedDeletion({ row, copy, place, deletedAt }: FollowedShard): string | undefined {
  const isGone = row === undefined || !row.living
  return isGone && copy && place > deletedAt ? 'the follower has missed a deletion' : undefined
}

/** A follower that has seen the deletion, or never knew the entity, goes on. */
export function toldForNothing({ isTold, place, deletedAt, copy }: FollowedShard): string | undefined {
  return isTold && !copy && place > deletedAt ? 'a follower that had missed nothing was sent away' : undefined
}
