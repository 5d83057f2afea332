import { describe, expect, it } from 'vitest'
import { isWhole } from '../is-whole.ts'
import { checkRemoval, removalSituations } from './removal-situations.ts'
import { allRemovalGuards, type RemovalGuards } from './removal-world.ts'

describe.each(Object.entries(removalSituations))('%s', (name, situation) => {
  if (isWhole(removalSituations, name))
    it('a change of the catalog that was acknowledged is on every shard', { timeout: 600_000 }, () => {
      const { violation, states } = checkRemoval(situation, allRemovalGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(50)
    })

  it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = checkRemoval(situation, { ...allRemovalGuards, [guard]: false })
    expect(violation?.what).toBeDefined()
  })
})

it('some situation needs each guard of removals', () => {
  const tested = new Set(Object.values(removalSituations).flatMap(({ guards }) => guards))
  expect(Object.keys(allRemovalGuards).filter((guard) => !tested.has(guard as keyof RemovalGuards))).toEqual(
    [],
  )
})
