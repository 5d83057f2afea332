import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { isWhole } from '../is-whole.ts'
import { checkMove, moveSituations } from './entity-situations.ts'
import { allMoveGuards, type MoveGuards } from './guards.ts'

describe.each(Object.entries(moveSituations))('%s', (name, situation) => {
  if (isWhole(moveSituations, name) && situation.isTooLarge !== true)
    it('the bucket has at most one owner, which has its last state', { timeout: 600_000 }, () => {
      const { violation, states } = checkMove(situation, allMoveGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(1000)
    })

  const guards = [...situation.guards, ...(isLong ? (situation.slowGuards ?? []) : [])]
  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(checkMove(situation, { ...allMoveGuards, [guard]: false }).violation).toBeDefined()
  })
})

it('some situation needs each guard of the move', () => {
  const tested = new Set(
    Object.values(moveSituations).flatMap(({ guards, slowGuards = [] }) => [...guards, ...slowGuards]),
  )
  expect(Object.keys(allMoveGuards).filter((guard) => !tested.has(guard as keyof MoveGuards))).toEqual([])
})
