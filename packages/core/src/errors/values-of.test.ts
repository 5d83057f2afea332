import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isLooseleafError, LooseleafError } from './errors.ts'
import type { Fate } from './fate.ts'
import { valuesOf } from './values-of.ts'

const done = (value: unknown): Fate<unknown> => ({ ok: true, value })
const failed = (error: Error): Fate<unknown> => ({ ok: false, error })
const down = new LooseleafError('SHARD_UNAVAILABLE', 'Shard b does not answer.')
const twin = new LooseleafError('DUPLICATE_KEY', 'Another entity has the key.')
const unknown = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was failed.')

function errorOf(fates: readonly Fate<unknown>[], isRepeatable = true): LooseleafError {
  try {
    valuesOf('putMany', fates, () => isRepeatable)
  } catch (error) {
    if (isLooseleafError(error)) return error
  }
  throw new Error('Nothing was thrown.')
}

describe('valuesOf', () => {
  test('a call without failed items returns its values in order', () => {
    expect(valuesOf('putMany', [done('a'), done('b')], () => false)).toEqual(['a', 'b'])
    expect(valuesOf('putMany', [], () => false)).toEqual([])
  })

  test('the error tells how many items failed and the first reason, and has all fates', () => {
    const fates = [done('a'), failed(down), done('b'), failed(twin)]
    const error = errorOf(fates)
    expect(error).toMatchObject({ code: 'SOME_FAILED', cause: down, fates })
    expect(error.message).toBe(
      '2 of the 4 items of putMany failed. The first of them: Shard b does not answer.',
    )
  })

  test.each([
    ['every failure is retryable, and the other items are repeatable', [done('a'), failed(down)], true, true],
    ['another item would be done twice', [done('a'), failed(down)], false, false],
    ['nothing was done', [failed(down), failed(down)], false, true],
    ['one failure is not retryable', [failed(down), failed(twin)], true, false],
    ['one failure is not a LooseleafError', [failed(down), failed(new Error('x'))], true, false],
  ])(
    'the error is retryable only if the same call may succeed and does nothing twice: %s',
    (_, fates, isRepeatable, expected) => {
      expect(errorOf(fates, isRepeatable).retryable).toBe(expected)
    },
  )

  test('the error has unknownOutcome if one failure has', () => {
    expect(errorOf([failed(twin), failed(unknown)]).unknownOutcome).toBe(true)
    expect(errorOf([failed(twin), failed(down)]).unknownOutcome).toBe(false)
  })

  test('a log of the error has no stored values', () => {
    const error = errorOf([done({ title: 'a secret' }), failed(down)])
    expect(JSON.stringify(error)).not.toContain('a secret')
    expect(inspect(error, { depth: 9 })).not.toContain('a secret')
  })
})
