import { LooseleafError } from 'looseleaf'
import { expect, test } from 'vitest'
import { problemOf } from './problem.ts'

test('a write with an unknown outcome asks to look before sending it again', () => {
  for (const retryable of [true, false]) {
    const problem = problemOf(new LooseleafError('OUTCOME_UNKNOWN', 'Lost.', { retryable }))
    expect(problem).toMatchObject({ status: 503, title: 'Your form may or may not be saved' })
  }
  expect(problemOf(new LooseleafError('SHARD_BUSY', 'Busy.')).title).toBe('One moment, please')
})

test('only the error page of a form says whether the form was saved', () => {
  const busy = new LooseleafError('SHARD_BUSY', 'Busy.')
  expect(problemOf(busy).message).toContain('your form was not saved')
  expect(problemOf(busy, { isRead: true })).toMatchObject({ status: 503, title: 'One moment, please' })
  expect(problemOf(busy, { isRead: true }).message).not.toMatch(/\bsen[dt]\b/)
  expect(problemOf(busy, { hasWritten: true }).message).toContain('may be saved in part')
})

test('a form that overlaps another change is no error of the site', () => {
  for (const code of ['VERSION_MISMATCH', 'NOT_FOUND'] as const)
    expect(problemOf(new LooseleafError(code, 'Changed.')).status).toBe(409)
})
