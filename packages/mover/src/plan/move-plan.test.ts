import { expect, test } from 'vitest'
import { problemsText } from './move-plan.ts'

test('one problem stays as it is, and several have numbers', () => {
  expect(problemsText([])).toBe('')
  expect(problemsText(['Shard 1 is down.'])).toBe('Shard 1 is down.')
  expect(problemsText(['A.', 'B.'])).toBe('The planned moves were not announced, for 2 reasons. 1. A. 2. B.')
})
