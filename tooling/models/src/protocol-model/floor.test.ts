import { describe, expect, it } from 'vitest'
import { explore, type Configuration } from './explore.ts'
import {
  allFloorGuards,
  behindTheFloor,
  clockShows,
  floorWorld,
  floorWriter,
  noFloorMemory,
  notHandled,
  raiser,
  reader,
  readerCrashes,
  type FloorGuards,
  type FloorMemory,
  type FloorWorld,
  type RaiseOptions,
} from './floor.ts'
import { isWhole } from './is-whole.ts'

type Build = (guards: FloorGuards) => Omit<Configuration<FloorWorld, FloorMemory>, 'local' | 'always'>

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<string, { build: Build; guards: readonly (keyof FloorGuards)[] }> = {
  'slow statements write two entities while the floor is raised twice': {
    build: (g) => ({
      world: floorWorld(2),
      processes: [floorWriter('a', g), floorWriter('b', g), raiser(g), raiser(g), reader(g), clockShows([2])],
    }),
    guards: [
      'writesNotBefore',
      'readsWithin',
      'readsLocked',
      'holdsUntilVisible',
      'raiseWaits',
      'readsUpToFloor',
      'floorBeforeRows',
      'excludesFloor',
      'pagesByKey',
    ],
  },
  'an entity is written twice while windows are paged': {
    build: (g) => ({
      world: floorWorld(2),
      processes: [floorWriter('a', g), floorWriter('a', g), raiser(g), raiser(g), reader(g), clockShows([2])],
    }),
    guards: ['writesNotBefore', 'readsLocked', 'raiseWaits', 'excludesFloor', 'pagesByKey'],
  },
  'the clock steps back': {
    build: (g) => ({
      world: floorWorld(2),
      processes: [
        floorWriter('a', g),
        floorWriter('b', g),
        raiser(g),
        raiser(g),
        reader(g),
        clockShows([3, 1]),
      ],
    }),
    guards: ['writesNotBefore', 'raiseOnlyRaises', 'readsLocked', 'readsUpToFloor'],
  },
  'the reader crashes and begins again at its cursor': {
    build: (g) => ({
      world: floorWorld(1),
      processes: [floorWriter('a', g), raiser(g), raiser(g), reader(g), clockShows([2, 3])],
      events: [readerCrashes],
    }),
    guards: ['handlesFirst', 'writesNotBefore', 'readsLocked', 'pagesByKey'],
  },
}

function check(
  build: Build,
  guards: FloorGuards,
  atRest?: (world: FloorWorld) => string | undefined,
): ReturnType<typeof explore> {
  return explore({
    ...build(guards),
    local: noFloorMemory,
    always: behindTheFloor,
    ...(atRest && { atRest }),
  })
}

describe.each(Object.entries(situations))('%s', (name, { build, guards }) => {
  if (isWhole(situations, name))
    it(
      'no write comes before a floor, and a reader passes over no change before its cursor',
      { timeout: 600_000 },
      () => {
        const { violation, states } = check(build, allFloorGuards)
        expect(violation).toBeUndefined()
        expect(states).toBeGreaterThan(1000)
      },
    )

  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = check(build, { ...allFloorGuards, [guard]: false })
    expect(violation?.what).toMatch(/comes before the floor|was passed over/)
  })
})

it('some situation needs each guard of the floor', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(Object.keys(allFloorGuards).filter((guard) => !tested.has(guard as keyof FloorGuards))).toEqual([])
})

describe('a raise after the last write', () => {
  const lastRaise =
    (times: readonly number[], options: RaiseOptions): Build =>
    (g) => ({
      world: floorWorld(1),
      processes: [
        floorWriter('a', g),
        raiser(g),
        raiser(g, { whenQuiet: true, ...options }),
        reader(g),
        clockShows(times),
      ],
    })

  it('it hides writes of its own tick, and writes after the clock stepped back', () => {
    const unhandled = 'the last version of a is not handled'
    expect(check(lastRaise([], {}), allFloorGuards, notHandled).violation?.what).toBe(unhandled)
    expect(check(lastRaise([3, 1], {}), allFloorGuards, notHandled).violation?.what).toBe(unhandled)
  })

  it('it shows the last state of every entity if it goes past the last row, whatever the clock shows', () => {
    for (const times of [[], [2, 3], [3, 1]]) {
      const { violation, states } = check(lastRaise(times, { pastLast: true }), allFloorGuards, notHandled)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(100)
    }
  })
})
