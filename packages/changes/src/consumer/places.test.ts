import { placeAt } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { comparePlaces, earliestOf, latestOf } from './places.ts'

const early = { updated: 1, addedId: 9 }
const middle = { updated: 2, addedId: 1 }
const late = { updated: 2, addedId: 3 }

test('places are in the order of their times, then of their row numbers', () => {
  expect([late, early, middle].toSorted(comparePlaces)).toEqual([early, middle, late])
  expect(comparePlaces(late, { ...late })).toBe(0)
})

test('the latest of no places is the beginning, and the earliest is after all others', () => {
  expect([latestOf([middle, late, early]), latestOf([])]).toEqual([late, placeAt(0)])
  expect(earliestOf([late, early, middle])).toEqual(early)
  expect(earliestOf([]).updated).toBe(Infinity)
})
