import { describe, expect, it } from 'vitest'
import { explore, type Event, type Exploration } from '../explore.ts'
import {
  allTransactionGuards,
  indexAdder,
  lacksRow,
  lockError,
  noTransaction,
  shardWorld,
  transactionWriter,
  type ShardWorld,
  type TransactionGuards,
  type TransactionProcess,
} from './transactions.ts'

interface Course {
  readonly processes: readonly TransactionProcess[]
  readonly events?: readonly Event<ShardWorld>[]
}

const writes = transactionWriter

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<
  string,
  {
    readonly build: (guards: TransactionGuards) => Course
    readonly guards: readonly (keyof TransactionGuards)[]
  }
> = {
  'two writers, deadlocks and lock waits': {
    build: (g) => ({
      processes: [writes([['b'], ['a']], g), writes([['b']], g)],
      events: [0, 1].flatMap((p) => [lockError(p, 'deadlock'), lockError(p, 'lock wait')]),
    }),
    guards: ['firstErrorEnds', 'deletesAreForWinners'],
  },
  'three writers, and a key that is kept': {
    build: (g) => ({ processes: [writes([['b']], g), writes([['a']], g), writes([['a', 'b']], g)] }),
    guards: ['deletesAreForWinners'],
  },
  'two attempts with one version': {
    build: (g) => ({
      processes: [writes([['a']], g, { versionsOf: 0 }), writes([['b']], g, { versionsOf: 0 })],
    }),
    guards: ['winnersHaveTheirBody'],
  },
  'an index is added beside transactions': {
    build: (g) => ({ processes: [writes([['b']], g), writes([['a'], ['b']], g), indexAdder] }),
    guards: ['swapsAreFenced', 'fenceIsHeldUntilCommit'],
  },
  'an index with rows on another shard is added beside transactions': {
    build: (g) => ({
      processes: [
        writes([['b']], g, { secondIsFar: true }),
        writes([['a'], ['b']], g, { secondIsFar: true }),
        indexAdder,
      ],
    }),
    guards: ['swapsAreFenced', 'fenceIsHeldUntilCommit'],
  },
}

function check(build: (guards: TransactionGuards) => Course, guards: TransactionGuards): Exploration {
  return explore({
    ...build(guards),
    world: shardWorld(),
    local: noTransaction,
    always: lacksRow,
  })
}

describe.each(Object.entries(situations))('%s', (_, { build, guards }) => {
  it(
    'a committed entity lacks no row while transactions wait, fail and are gathered',
    { timeout: 600_000 },
    () => {
      const { violation, states } = check(build, allTransactionGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(50)
    },
  )

  it.each(guards)('a row is missing without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(check(build, { ...allTransactionGuards, [guard]: false }).violation?.what).toContain(
      'lacks the row',
    )
  })
})

it('some situation needs each guard of the transactions', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(
    Object.keys(allTransactionGuards).filter((guard) => !tested.has(guard as keyof TransactionGuards)),
  ).toEqual([])
})
