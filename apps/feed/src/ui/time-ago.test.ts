import { expect, test } from 'vitest'
import { timeAgo } from './time-ago.tsx'

const now = new Date('2026-06-15T12:00:00Z')

test.each([
  ['2026-06-15T12:00:30Z', 'just now'],
  ['2026-06-15T11:59:10Z', 'just now'],
  ['2026-06-15T11:59:00Z', '1 minute ago'],
  ['2026-06-15T11:00:01Z', '59 minutes ago'],
  ['2026-06-15T10:59:59Z', '1 hour ago'],
  ['2026-06-14T12:00:01Z', '23 hours ago'],
  ['2026-06-14T11:59:59Z', 'yesterday'],
  ['2026-06-10T12:00:00Z', '5 days ago'],
  ['2026-05-01T12:00:00Z', '1 May'],
  ['2009-02-27T12:00:00Z', '27 February 2009'],
])('the time %s is shown as “%s”', (time, words) => {
  expect(timeAgo(new Date(time), now)).toBe(words)
})
