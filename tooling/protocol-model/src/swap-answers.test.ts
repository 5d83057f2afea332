import { describe, expect, it } from 'vitest'
import { explore, type Exploration } from './explore.ts'
import {
  batch,
  noMemory,
  notTold,
  otherWriter,
  swapWorld,
  toldWrong,
  WRITTEN,
  type SwapGuards,
  type SwapProcess,
  type SwapWorld,
} from './swap-answers.ts'

const alone: SwapGuards = { counts: true, inTransaction: false, knownBy: 'body' }
const careful: SwapGuards = { ...alone, inTransaction: true }

function outcome(
  guards: SwapGuards,
  others: readonly SwapProcess[],
  atRest?: (world: SwapWorld) => string | undefined,
): Exploration['violation'] {
  return explore({
    world: swapWorld(),
    local: noMemory,
    processes: [batch(guards), ...others],
    always: toldWrong,
    ...(atRest && { atRest }),
  }).violation
}

/** Others come before the batch, or replace what it has written, each with versions of its own. */
const apart = [otherWriter('a', [15, 30], 'other'), otherWriter('b', [16, 31], 'another')]
/** One of them chooses the version that the batch gives its row. */
const meeting = (body: string): readonly SwapProcess[] => [
  otherWriter('a', [WRITTEN], body),
  otherWriter('b', [31], 'another'),
]

describe('a batch of swaps that is told only how many it has won', () => {
  it.each(Object.entries({ alone, careful }))('is told nothing wrong: %s', (_, guards) => {
    expect(outcome(guards, apart)).toBeUndefined()
    expect(outcome(guards, meeting('other'))).toBeUndefined()
  })

  it('is told something wrong by the versions alone', () => {
    expect(outcome({ ...alone, counts: false }, apart)?.what).toMatch(/is told/)
  })

  it('takes the row of another for its own where versions meet and nobody asks whose it is', () => {
    expect(outcome({ ...alone, knownBy: 'nothing' }, meeting('other'))?.what).toBe(
      'the batch has won [b] and is told [a]',
    )
  })

  it('is always told within a transaction, where versions do not meet', () => {
    expect(outcome(careful, apart, notTold)).toBeUndefined()
  })
})

describe('an id of the attempt in the row', () => {
  const withId: SwapGuards = { ...alone, knownBy: 'attempt' }

  it('does not stand in for the transaction: who replaces a row replaces the id', () => {
    expect(outcome(withId, apart, notTold)?.what).toBe('the batch is not told what it has won')
  })

  it('tells apart what bodies do not: one version, one base, one body', () => {
    const same = meeting('of the batch')
    expect(outcome(alone, same)?.what).toBe('the batch has won [b] and is told [a]')
    expect(outcome(withId, same)).toBeUndefined()
    // Nor are bodies asked for within a transaction, where the numbers cannot agree.
    expect(outcome(careful, same)).toBeUndefined()
  })
})
