import { describe, expect, it } from 'vitest'
import { explore, type Exploration } from './explore.ts'
import {
  batch,
  noMemory,
  noReport,
  otherWriter,
  swapWorld,
  wrongReport,
  WRITTEN,
  type SwapGuards,
  type SwapProcess,
  type SwapWorld,
} from './swap-answers.ts'

/** A short batch, judged by its answer alone. */
const named: SwapGuards = { named: true, counts: true, inTransaction: false, knownBy: 'nothing' }
/** A long batch: a transaction that reads the versions back. */
const careful: SwapGuards = { ...named, named: false, inTransaction: true }
/** A batch that is read back after the commit. */
const late: SwapGuards = { ...careful, inTransaction: false, knownBy: 'body' }

function outcome(
  guards: SwapGuards,
  others: readonly SwapProcess[],
  atRest?: (world: SwapWorld) => string | undefined,
): Exploration['violation'] {
  return explore({
    world: swapWorld(),
    local: noMemory,
    processes: [batch(guards), ...others],
    always: wrongReport,
    ...(atRest && { atRest }),
  }).violation
}

/** Other writers that come before the batch or replace its rows, with versions of their own. */
const apart = [otherWriter('a', [15, 30], 'other'), otherWriter('b', [16, 31], 'another')]
/** Other writers, one of which chooses the version that the batch writes. */
const meeting = (body: string): readonly SwapProcess[] => [
  otherWriter('a', [WRITTEN], body),
  otherWriter('b', [31], 'another'),
]

describe('a batch of swaps', () => {
  it.each(Object.entries({ named, careful }))(
    'a batch always learns its winners, correctly: %s',
    (_, guards) => {
      for (const body of ['other', 'of the batch']) {
        expect(outcome(guards, meeting(body), noReport)).toBeUndefined()
      }
      expect(outcome(guards, apart, noReport)).toBeUndefined()
    },
  )
})

describe('a batch of swaps that is read back after its commit', () => {
  it('a batch that compares versions only learns wrong winners', () => {
    expect(outcome({ ...late, counts: false }, apart)?.what).toMatch(/but learns/)
  })

  it('a batch takes a foreign row for its own if versions collide and bodies are not compared', () => {
    expect(outcome({ ...late, knownBy: 'nothing' }, meeting('other'))?.what).toBe(
      'the batch has won [b] but learns [a]',
    )
  })

  it.each(['body', 'attempt'] as const)(
    'a batch that knows its rows by their %s learns no wrong winners, but sometimes none',
    (knownBy) => {
      expect(outcome({ ...late, knownBy }, apart)).toBeUndefined()
      expect(outcome({ ...late, knownBy }, meeting('other'))).toBeUndefined()
      expect(outcome({ ...late, knownBy }, apart, noReport)?.what).toBe(
        'the batch does not learn its winners',
      )
    },
  )

  it('a batch takes a foreign row for its own even if the bodies are equal', () => {
    const same = meeting('of the batch')
    expect(outcome(late, same)?.what).toBe('the batch has won [b] but learns [a]')
    expect(outcome({ ...late, knownBy: 'attempt' }, same)).toBeUndefined()
  })
})
