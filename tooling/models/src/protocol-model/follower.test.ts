import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { explore } from './explore.ts'
import {
  allFollowerGuards,
  follower,
  followerWorld,
  logIsWritten,
  noFollowerMemory,
  passedOver,
  raisesFloor,
  replaces,
  serverCrashes,
  type FollowerGuards,
} from './follower.ts'

const check = (guards: FollowerGuards): ReturnType<typeof explore> =>
  explore({
    world: followerWorld(),
    local: noFollowerMemory,
    processes: [replaces('a'), replaces('a'), replaces('b'), raisesFloor(), raisesFloor(), follower(guards)],
    events: [logIsWritten, serverCrashes, serverCrashes],
    always: passedOver,
  })

describe('a follower of a server that shows commits before they are on disk, and crashes twice', () => {
  if (isLong)
    it('a follower passes over no state that a crash brings back', { timeout: 600_000 }, () => {
      const { violation, states } = check(allFollowerGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(1000)
    })

  it.each([
    ['floorOnDisk', /was handled before it was on disk|was passed over/],
    ['flushBehindPage', /was passed over/],
    ['noticesRestart', /was passed over/],
  ] as const)('a state is passed over without the guard %s', { timeout: 600_000 }, (guard, wrong) => {
    expect(check({ ...allFollowerGuards, [guard]: false }).violation?.what).toMatch(wrong)
  })
})
