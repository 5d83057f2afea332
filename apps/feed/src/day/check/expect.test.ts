import { expect, test } from 'vitest'
import type { Crew } from '../crew/crew.ts'
import { expectedRecipients } from './expect.ts'

const crew: Crew = {
  people: ['ann', 'bob'],
  readers: ['r1', 'r2', 'r3', 'r4'],
  sources: ['bread', 'trains'],
  followers: new Map([
    ['ann', new Set(['r1', 'r2'])],
    ['bob', new Set(['r4'])],
    ['bread', new Set(['r2', 'r3'])],
    ['trains', new Set(['r1'])],
  ]),
  publishers: new Map([['bread', ['ann', 'bob']]]),
  pulled: new Set(['bob']),
}

test('the followers of a source, and of the people who publish through it, get its entries', () => {
  const entry = { id: 'e', person: undefined, source: 'bread', isAcknowledged: true }
  const { pushed, pulling } = expectedRecipients(entry, crew)
  expect([...pushed].toSorted()).toEqual(['r1', 'r2', 'r3'])
  expect([...pulling]).toEqual(['r4'])
})

test('the writer of a message gets it, although its channel is read at each visit', () => {
  const entry = { id: 'e', person: 'bob', source: undefined, isAcknowledged: true }
  const { pushed, pulling } = expectedRecipients(entry, crew)
  expect([...pushed]).toEqual(['bob'])
  expect([...pulling]).toEqual(['r4'])
})
