import { describe, expect, it } from 'vitest'
import { isWhole } from '../is-whole.ts'
import { checkClaims, claimSituations } from './claim-situations.ts'
import { allClaimGuards, type ClaimGuards } from './claim-world.ts'

describe.each(Object.entries(claimSituations))('%s', (name, situation) => {
  if (isWhole(claimSituations, name))
    it('no two entities have one key, and every key is claimed in the end', { timeout: 600_000 }, () => {
      const { violation, states } = checkClaims(situation, allClaimGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(1000)
    })

  it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(checkClaims(situation, { ...allClaimGuards, [guard]: false }).violation).toBeDefined()
  })
})

it('some situation needs each guard of the claims', () => {
  const tested = new Set(Object.values(claimSituations).flatMap(({ guards }) => guards))
  expect(Object.keys(allClaimGuards).filter((guard) => !tested.has(guard as keyof ClaimGuards))).toEqual([])
})
