import { describe, expect, it } from 'vitest'
import { explore, type Exploration } from '../explore.ts'
import {
  allLossGuards,
  brokenLoss,
  lossMover,
  lossOf,
  lossWorld,
  lossWriter,
  noLossMemory,
  unfinishedLoss,
  type LossGuards,
} from './lost-copies.ts'

interface LossSituation {
  readonly movers: number
  /** Number of attempts after which a mover ends. */
  readonly attempts: number
  readonly writers: number
  readonly rows: boolean
  /** Numbers of commits of which the target loses one, once. */
  readonly losses: readonly number[]
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof LossGuards)[]
}

const situations: Readonly<Record<string, LossSituation>> = {
  'one mover and two writers': {
    movers: 1,
    attempts: 6,
    writers: 2,
    rows: true,
    losses: [1, 2, 3, 4],
    guards: [
      'copiesNeedTheLast',
      'beginNeedsTheLast',
      'beginsByOneStatement',
      'rowsHaveAnAttempt',
      'givenUpIsCopiedAnew',
    ],
  },
  'one mover and two writers, without index rows': {
    movers: 1,
    attempts: 6,
    writers: 2,
    rows: false,
    losses: [1, 2, 3, 4],
    guards: ['copiesNeedTheLast', 'beginNeedsTheLast', 'beginsByOneStatement', 'givenUpIsCopiedAnew'],
  },
  'two movers, one of which may die': {
    movers: 2,
    attempts: 3,
    writers: 0,
    rows: true,
    losses: [1, 3],
    guards: ['attemptIsSaved', 'lastIsSaved', 'beginNeedsTheAttempt'],
  },
}

/** Explores the situation with each loss. Returns a violation, or the last exploration. */
function check({ movers, attempts, writers, rows, losses }: LossSituation, guards: LossGuards): Exploration {
  const found = losses.map((commits) =>
    explore({
      world: lossWorld({ rows }),
      local: noLossMemory,
      processes: [
        ...Array.from({ length: movers }, () => lossMover(guards, attempts, { rows })),
        ...Array.from({ length: writers }, (_, entity) => lossWriter(entity)),
      ],
      events: [lossOf(commits)],
      crashes: movers - 1,
      always: brokenLoss,
      // Two movers use their attempts up.
      ...(movers === 1 ? { atRest: unfinishedLoss } : {}),
    }),
  )
  return found.find(({ violation }) => violation !== undefined) ?? found.at(-1)!
}

describe.each(Object.entries(situations))('%s', (_, situation) => {
  it('a target that has lost commits begins only with every entity and index row', () => {
    const { violation, states } = check(situation, allLossGuards)
    expect(violation).toBeUndefined()
    expect(states).toBeGreaterThan(100)
  })

  it.each(situation.guards)('the promise breaks without the guard %s', (guard) => {
    const { violation } = check(situation, { ...allLossGuards, [guard]: false })
    expect(violation?.what).toMatch(/^the target serves the bucket without/)
  })
})

it('some situation needs each guard of lost copies', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect([...tested].toSorted()).toEqual(Object.keys(allLossGuards).toSorted())
})
