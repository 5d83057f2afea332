import { expect, test } from 'vitest'
import { isOfOneKey, matches, type QueryRequest, type Content } from './indexes.ts'

const red: Content = { group: 'north', tags: ['red'], at: '2024-03-31T01:30:00.000Z' }
const blue: Content = { group: 'south', tags: ['blue'], at: '2024-03-31T01:30:00.000Z' }
const contents = [
  red,
  blue,
  { ...red, group: null, at: '2024-03-31T22:15:00.000Z' },
  { ...blue, at: '2024-03-31T22:15:00.000Z' },
  // Excluded from one of the indexes.
  { ...blue, tags: ['grey'] },
]

test.each<[QueryRequest, matching: number, ofOneKey: boolean]>([
  [{ index: 'by_tag', tags: ['red'] }, 2, true],
  [{ index: 'by_tag', tags: ['red', 'blue'] }, 4, false],
  [{ index: 'by_group', groups: ['south'] }, 3, true],
  [{ index: 'by_group', groups: ['east', 'north'] }, 1, false],
  [{ index: 'by_group', between: ['north', 'south'] }, 4, false],
  [{ index: 'by_group_and_time', group: 'south', at: blue.at }, 2, true],
  [{ index: 'by_day', days: ['2024-03-31'] }, 4, false],
  [{ index: 'by_day', days: ['2024-03-31'], groups: ['south'] }, 2, true],
  [{ index: 'by_day', days: ['2024-03-31'], groups: [null, 'north'] }, 2, false],
  [{ index: 'by_day', days: ['2024-03-30'], groups: [null] }, 0, true],
])('%j matches what it asks for', (request, matching, ofOneKey) => {
  expect(contents.filter((content) => matches(request, content))).toHaveLength(matching)
  expect(isOfOneKey(request)).toBe(ofOneKey)
})
