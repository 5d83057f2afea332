import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, it } from 'vitest'
import { explore, type Event, type Exploration } from '../explore.ts'
import {
  allBatchGuards,
  batchCaller,
  batchWorld,
  brokenBatch,
  connectionLost,
  failover,
  farCleaner,
  noBatchMemory,
  packetThread,
  replicated,
  serverCrash,
  type BatchGuards,
  type BatchWorld,
  type Item,
} from './batches.ts'

interface Course {
  /** Items of each call, in the order in which the caller names them. */
  readonly calls: readonly (readonly Item[])[]
  readonly givesUp?: boolean
  /** Item that the first call only holds at its version. */
  readonly held?: Item
  readonly hasCleaner?: boolean
  readonly isLossy?: boolean
  readonly events?: readonly Event<BatchWorld>[]
  /** Has so many states that only a long run visits all of them. */
  readonly isLarge?: true
}

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<string, Course & { readonly guards: readonly (keyof BatchGuards)[] }> = {
  'a batch loses its answer, and the server crashes': {
    calls: [[0, 1]],
    events: [connectionLost(0), serverCrash],
    guards: ['flushesFirst', 'readsAgain'],
  },
  'two batches overlap in another order': {
    calls: [
      [0, 1],
      [1, 0],
    ],
    guards: ['oneLockOrder'],
  },
  'a batch loses its answer beside another batch': {
    calls: [
      [0, 1],
      [1, 0],
    ],
    events: [connectionLost(0)],
    guards: ['conflictsAreReadBack', 'attemptsAreRemembered'],
  },
  'a batch beside a single update loses its answer': {
    calls: [[0, 1], [0]],
    events: [connectionLost(0)],
    guards: ['allOrNothing', 'everyItemCompares'],
  },
  'a batch beside a single update, and the server crashes': {
    isLarge: true,
    calls: [[0, 1], [0]],
    events: [connectionLost(0), connectionLost(1), serverCrash],
    guards: [],
  },
  'a call gives up': {
    calls: [[0, 1], [0]],
    givesUp: true,
    events: [connectionLost(0)],
    guards: ['nothingIsDenied'],
  },
  'a cleaner deletes far rows by the commit that it sees': {
    calls: [[0, 1]],
    hasCleaner: true,
    events: [connectionLost(0), serverCrash],
    guards: ['farRowsWaitForDisk'],
  },
  'a batch that holds an item loses its answer beside an update': {
    calls: [[0, 1], [0]],
    held: 1,
    events: [connectionLost(0)],
    guards: ['heldItemsProveNothing'],
  },
  'a batch that holds an item beside an update of that item': {
    calls: [[0, 1], [1]],
    held: 1,
    events: [connectionLost(0)],
    guards: [],
  },
  'a failover loses a batch': {
    calls: [[0, 1]],
    isLossy: true,
    events: [replicated, failover],
    guards: ['farRowsWaitForReplicas'],
  },
  'two single updates lose their answers': {
    isLarge: true,
    calls: [[0], [0]],
    events: [connectionLost(0), connectionLost(1)],
    guards: ['conflictsAreReadBack', 'everyItemCompares'],
  },
}

function check(
  { calls, givesUp = false, held, hasCleaner = false, isLossy = false, events = [] }: Course,
  guards: BatchGuards,
): Exploration {
  const callers = calls.map((items, caller) =>
    batchCaller(items, guards, caller === 0 ? { givesUp, held } : {}),
  )
  const threads = calls.flatMap((items, caller) =>
    [0, 1].map((attempt) => packetThread(caller, attempt, items, guards, caller === 0 ? held : undefined)),
  )
  return explore({
    world: batchWorld(isLossy),
    local: noBatchMemory,
    processes: [...callers, ...threads, ...(hasCleaner ? [farCleaner(guards)] : [])],
    events,
    always: (world) =>
      brokenBatch(
        world,
        calls.map((items, caller) => items.filter((item) => caller > 0 || item !== held)),
      ),
    atRest(_, waiting) {
      const stuck = waiting.find((process) => process < calls.length)
      return stuck === undefined ? undefined : `P${stuck} waits for ever`
    },
  })
}

const isExplored = ({ isLarge }: Course): boolean => isLong || isLarge !== true
const tried = Object.entries(situations).filter(
  ([, situation]) => isExplored(situation) || situation.guards.length > 0,
)

describe.each(tried)('%s', (_, situation) => {
  if (isExplored(situation))
    it('a batch takes place as a whole or not at all, once, and its call knows', { timeout: 600_000 }, () => {
      const { violation, states } = check(situation, allBatchGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(20)
    })

  it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    expect(check(situation, { ...allBatchGuards, [guard]: false }).violation).toBeDefined()
  })
})

it('some situation needs each guard of the batches', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(Object.keys(allBatchGuards).filter((guard) => !tested.has(guard as keyof BatchGuards))).toEqual([])
})
