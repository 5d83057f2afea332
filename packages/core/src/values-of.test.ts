import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isLooseleafError, LooseleafError } from './errors.ts'
import type { Fate } from './fate.ts'
import { valuesOf } from './values-of.ts'

const done = (value: unknown): Fate<unknown> => ({ ok: true, value })
const lost = (error: Error): Fate<unknown> => ({ ok: false, error })
const down = new LooseleafError('SHARD_UNAVAILABLE', 'Shard b does not answer.')
const twin = new LooseleafError('DUPLICATE_KEY', 'Another entity has the key.')
const unknown = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.')

function errorOf(fates: readonly Fate<unknown>[], isRepeatable = true): LooseleafError {
  try {
    valuesOf('putMany', fates, () => isRepeatable)
  } catch (error) {
    if (isLooseleafError(error)) return error
  }
  throw new Error('Nothing was thrown.')
}

describe('valuesOf', () => {
  test('a call of which no item has failed gives the values in order', () => {
    expect(valuesOf('putMany', [done('a'), done('b')], () => false)).toEqual(['a', 'b'])
    expect(valuesOf('putMany', [], () => false)).toEqual([])
  })

  test('an error tells how many items have failed and the first reason, and has all fates', () => {
    const fates = [done('a'), lost(down), done('b'), lost(twin)]
    const error = errorOf(fates)
    expect(error).toMatchObject({ code: 'SOME_FAILED', cause: down, fates })
    expect(error.message).toBe(
      '2 of the 4 items of putMany failed. The first of them: Shard b does not answer.',
    )
  })

  test.each([
    ['every failure is, and the others may be done again', [done('a'), lost(down)], true, true],
    ['another item would be done twice', [done('a'), lost(down)], false, false],
    ['nothing was done, whatever its items are', [lost(down), lost(down)], false, true],
    ['one failure is not', [lost(down), lost(twin)], true, false],
    ['one failure is no error of Looseleaf', [lost(down), lost(new Error('x'))], true, false],
  ])(
    'an error is retryable only where the same call may succeed and does nothing twice: %s',
    (_, fates, isRepeatable, expected) => {
      expect(errorOf(fates, isRepeatable).retryable).toBe(expected)
    },
  )

  test('an error is of unknown outcome where one failure is', () => {
    expect(errorOf([lost(twin), lost(unknown)]).unknownOutcome).toBe(true)
    expect(errorOf([lost(twin), lost(down)]).unknownOutcome).toBe(false)
  })

  test('logs of an error have no stored values', () => {
    const error = errorOf([done({ title: 'a secret' }), lost(down)])
    expect(JSON.stringify(error)).not.toContain('a secret')
    expect(inspect(error, { depth: 9 })).not.toContain('a secret')
  })
})
