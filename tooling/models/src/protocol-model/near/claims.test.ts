import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { explore, type Exploration } from '../explore.ts'
import {
  allUniqueGuards,
  keyTwice,
  noAttempt,
  put,
  unclaimedKey,
  uniqueWorld,
  type UniqueProcess,
  type UniqueWorld,
} from '../unique.ts'
import { allLocalClaimGuards, inTurn, localExchange, localPut, type LocalClaimGuards } from './claims.ts'

/** Entities 0 and 2 are on the shard of the claims; entity 1 is elsewhere. */
interface Course {
  readonly world: UniqueWorld
  readonly processes: readonly UniqueProcess[]
  readonly crashes?: number
}

interface Situation {
  /** Has so many states that only a long run visits all of them. */
  readonly isLarge?: true
  readonly build: (guards: LocalClaimGuards) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof LocalClaimGuards)[]
}

const far = (entity: number, key: string | undefined): UniqueProcess => put(entity, key, allUniqueGuards)
const near = (
  entity: number,
  key: string | undefined,
  guards: LocalClaimGuards,
  isSplit = false,
): UniqueProcess => localPut(entity, key, allUniqueGuards, guards, { isSplit })

const situations: Record<string, Situation> = {
  'a near and a far entity want one key': {
    build: (g) => ({
      world: uniqueWorld([undefined, undefined]),
      processes: [inTurn(near(0, 'K', g), near(0, undefined, g)), far(1, 'K')],
      crashes: 1,
    }),
    guards: ['holderIsReadUnderLock', 'foreignClaimsEnd'],
  },
  'a far entity gives the key up and takes it again': {
    build: (g) => ({
      world: uniqueWorld([undefined, 'K']),
      processes: [near(0, 'K', g), inTurn(far(1, undefined), far(1, 'K'))],
      crashes: 1,
    }),
    guards: ['foreignClaimsEnd'],
  },
  'a claim of its own is left over': {
    build: (g) => ({
      world: { ...uniqueWorld([undefined, undefined]), claims: { K: { entity: 0, stamp: 5 } } },
      processes: [near(0, 'K', g), far(1, 'K')],
    }),
    guards: ['ownClaimsAreRaised'],
  },
  'two writers of a near entity, and a far one': {
    build: (g) => ({
      world: uniqueWorld(['K', undefined]),
      processes: [near(0, undefined, g), inTurn(near(0, 'K', g), near(0, 'L', g)), far(1, 'K')],
    }),
    guards: ['releasesAreForWinners'],
  },
  'two near entities and a far one change keys': {
    build: (g) => ({
      world: uniqueWorld(['K', undefined, undefined]),
      processes: [near(0, 'L', g), near(2, 'K', g), far(1, 'K')],
    }),
    guards: ['holderIsReadUnderLock'],
  },
  'a pooler splits transactions with claims': {
    build: (g) => ({
      world: uniqueWorld([undefined, undefined, undefined]),
      processes: [inTurn(near(0, 'K', g, true), near(0, undefined, g, true)), near(2, 'K', g), far(1, 'K')],
    }),
    guards: ['claimsStandBeforeSwap', 'releasesCompareStamps'],
    isLarge: true,
  },
  'a far attempt has died, whose claim has a high stamp': {
    build: (g) => ({
      world: { ...uniqueWorld([undefined, undefined]), claims: { K: { entity: 1, stamp: 35 } } },
      processes: [inTurn(near(0, 'K', g), near(0, 'L', g)), far(1, 'K')],
      crashes: 1,
    }),
    guards: ['foreignClaimsEnd'],
  },
  'a batch exchanges two keys': {
    build: (g) => ({
      world: uniqueWorld(['K', undefined, 'L']),
      processes: [localExchange([0, 2], ['L', 'K'], g), inTurn(far(1, 'K'), far(1, 'L'))],
    }),
    guards: [],
  },
  'a batch wants a key that its other item keeps': {
    build: (g) => ({
      world: uniqueWorld(['K', undefined, 'L']),
      processes: [localExchange([0, 2], ['L', 'L'], g), far(1, 'K')],
    }),
    guards: ['batchesTakeWhatIsGivenUp'],
  },
}

function check(build: Situation['build'], guards: LocalClaimGuards): Exploration {
  const { world, processes, crashes = 0 } = build(guards)
  return explore({
    world,
    local: noAttempt,
    processes,
    crashes,
    always: keyTwice,
    atRest: (state, waiting) => (waiting.length > 0 ? `P${waiting[0]} waits for ever` : unclaimedKey(state)),
  })
}

describe.each(Object.entries(situations))('%s', (_, { build, guards, isLarge }) => {
  if (isLong || isLarge !== true)
    it(
      'no two entities share a key while claims are taken with their entities, and every key is claimed',
      { timeout: 600_000 },
      () => {
        const { violation, states } = check(build, allLocalClaimGuards)
        expect(violation).toBeUndefined()
        expect(states).toBeGreaterThan(10)
      },
    )

  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(check(build, { ...allLocalClaimGuards, [guard]: false }).violation).toBeDefined()
  })
})

it('some situation needs each guard of the local claims', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(
    Object.keys(allLocalClaimGuards).filter((guard) => !tested.has(guard as keyof LocalClaimGuards)),
  ).toEqual([])
})
