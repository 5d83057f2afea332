import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { deferredTables, mayBeOfLocalRows } from './row-failures.ts'

const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
const refused = new LooseleafError('BAD_INDEX_VALUE', 'Refused.')
const undone = new LooseleafError('BAD_INDEX_VALUE', 'A deadlock.', { undone: true })
const dropped = new LooseleafError('INDEX_NOT_FOUND', 'Dropped.')
const bug = Object.assign(new TypeError('a bug'), { retryable: true, undone: true })

test('the tables of failures are deferred once each, if the shard fails for a while', () => {
  const failures = ['a', 'b', 'a'].map((table) => ({ table, error: away }))
  expect(deferredTables(failures, true)).toEqual(['a', 'b'])
  expect(deferredTables([], false)).toEqual([])
  expect(() => deferredTables(failures, false)).toThrow(away)
})

test.each([refused, bug])('a failure that lasts is thrown, and deferred by no policy: %s', (error) => {
  const failures = [
    { table: 'a', error: away },
    { table: 'b', error },
  ]
  expect(() => deferredTables(failures, true)).toThrow(error)
})

test.each<[boolean, boolean, unknown]>([
  [true, true, undone],
  [true, true, dropped],
  [false, true, away],
  [false, false, refused],
  [false, false, bug],
  [false, false, undefined],
  [false, false, new LooseleafError('SHARD_BUSY', 'No answer.', { undone: true, unknownOutcome: true })],
])(
  'local rows may be the reason (%s) of a failure, or (%s) if they can be written later: %s',
  (plain, spared, error) => {
    expect([mayBeOfLocalRows(error, false), mayBeOfLocalRows(error, true)]).toEqual([plain, spared])
  },
)
