import { describe, expect, it } from 'vitest'
import { isWhole } from '../is-whole.ts'
import { allRowGuards, type RowGuards } from './row-world.ts'
import { checkRows, rowSituations } from './index-row-situations.ts'

describe.each(Object.entries(rowSituations))('%s', (name, situation) => {
  if (isWhole(rowSituations, name))
    it('every place that may be read has the rows of the committed entity', { timeout: 600_000 }, () => {
      const { violation, states } = checkRows(situation, allRowGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(100)
    })

  it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(checkRows(situation, { ...allRowGuards, [guard]: false }).violation).toBeDefined()
  })
})

it('some situation needs each guard of the index rows', () => {
  const tested = new Set(Object.values(rowSituations).flatMap(({ guards }) => guards))
  expect(Object.keys(allRowGuards).filter((guard) => !tested.has(guard as keyof RowGuards))).toEqual([])
})
