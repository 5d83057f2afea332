import { describe, expect, it } from 'vitest'
import { explore } from './explore.ts'
import {
  allFollowGuards,
  deletion,
  emptyFollower,
  follower,
  missedDeletion,
  purgeOf,
  shardWithEntity,
  toldForNothing,
  type FollowedShard,
  type FollowGuards,
} from './purged-changes.ts'

const situations: Record<string, { world: FollowedShard; guards: readonly (keyof FollowGuards)[] }> = {
  'a follower begins with nothing while an entity is deleted and purged': {
    world: shardWithEntity(),
    guards: ['raiseFirst', 'lookAfterPage', 'keepBeginning', 'refuseGap'],
  },
  'a follower goes on where it was while an entity is deleted and purged': {
    world: shardWithEntity({ copy: true, place: 2 }),
    guards: ['raiseFirst', 'lookAfterPage', 'refuseGap'],
  },
}

const check = (world: FollowedShard, guards: FollowGuards): ReturnType<typeof explore> =>
  explore({
    world,
    local: emptyFollower,
    processes: [deletion, purgeOf(guards), follower(guards, 3)],
    crashes: 1,
    always: (shard) => missedDeletion(shard) ?? toldForNothing(shard),
  })

describe.each(Object.entries(situations))('%s', (_, { world, guards }) => {
  it('a follower misses no deletion, and restarts only if it must', () => {
    const { violation, states } = check(world, allFollowGuards)
    expect(violation).toBeUndefined()
    expect(states).toBeGreaterThan(100)
  })

  it.each(guards)('a follower misses a deletion without the guard %s', (guard) => {
    expect(check(world, { ...allFollowGuards, [guard]: false }).violation?.what).toMatch(/missed a deletion/)
  })
})
