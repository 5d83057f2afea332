import { describe, expect, it } from 'vitest'
import { isWhole } from '../is-whole.ts'
import { checkFilling, fillSituations } from './filling-situations.ts'
import { allFillGuards, type FillGuards } from './filling-world.ts'

describe.each(Object.entries(fillSituations))('%s', (name, situation) => {
  if (isWhole(fillSituations, name))
    it('an index that is ready has the row of the entity', { timeout: 600_000 }, () => {
      const { violation, states } = checkFilling(situation, allFillGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(50)
    })

  it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = checkFilling(situation, { ...allFillGuards, [guard]: false })
    expect(violation?.what).toBe('the index is ready and lacks a row')
  })
})

it('some situation needs each guard of the fillings', () => {
  const tested = new Set(Object.values(fillSituations).flatMap(({ guards }) => guards))
  expect(Object.keys(allFillGuards).filter((guard) => !tested.has(guard as keyof FillGuards))).toEqual([])
})
