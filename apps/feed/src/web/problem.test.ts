import { LooseleafError } from 'looseleaf'
import { expect, test } from 'vitest'
import { problemOf } from './problem.ts'

test('what may have been written is not to be sent again without a look', () => {
  for (const retryable of [true, false]) {
    const problem = problemOf(new LooseleafError('OUTCOME_UNKNOWN', 'Lost.', { retryable }))
    expect(problem).toMatchObject({ status: 503, title: 'That may have been saved, or not' })
  }
  expect(problemOf(new LooseleafError('SHARD_BUSY', 'Busy.')).title).toBe('One moment, please')
})

test('only those who have sent something are told what became of it', () => {
  const busy = new LooseleafError('SHARD_BUSY', 'Busy.')
  expect(problemOf(busy).message).toContain('what you have sent was not saved')
  expect(problemOf(busy, true)).toMatchObject({ status: 503, title: 'One moment, please' })
  expect(problemOf(busy, true).message).not.toMatch(/\bsen[dt]\b/)
})
