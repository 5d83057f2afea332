import { expect, test } from 'vitest'
import { outcomeOf } from './play-page.ts'

test('the outcome of a played day counts one failed request as one', () => {
  const made = { entries: [], comments: [], likes: [] }
  const day = { made, behind: 0, counts: { failed: 1, refusedForms: 0, refusedSenders: 0 } }
  const text = outcomeOf(day as never, { expected: 2, lost: 0, twice: 0 } as never)
  expect(text).toMatch(/Expected 2 inbox items: 0 lost, 0 twice; one request failed\.$/)
})
