import { describe, expect, it } from 'vitest'
import { explore, type Configuration } from './explore.ts'
import { isWhole } from './is-whole.ts'
import {
  allMovingGuards,
  clock,
  missedOrMissing,
  movingDrain,
  movingQuery,
  movingSweep,
  movingWorld,
  movingWriter,
  noRecollection,
  type MovingGuards,
  type MovingProcess,
  type MovingWorld,
  type Recollection,
} from './moving-query.ts'

type Build = (guards: MovingGuards) => Omit<Configuration<MovingWorld, Recollection>, 'local' | 'always'>

const write = movingWriter

/** A writer that crashes after it has written its row. */
const dyingWriter = (keys: readonly string[], guards: MovingGuards): MovingProcess =>
  movingWriter(keys, guards).slice(0, 2)

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<string, { build: Build; guards: readonly (keyof MovingGuards)[] }> = {
  'an entity moves to and fro between two places while both are read': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [movingQuery(['b', 'a'], 'all first', g), write(['b'], g), write(['a'], g), clock(3)],
    }),
    guards: ['writersKeep', 'queriesAreBounded', 'atOnceWithoutAnyRow', 'deletesOlder'],
  },
  'the same while they are read one by one': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [movingQuery(['a', 'b'], 'one by one', g), write(['b'], g), write(['a'], g), clock(3)],
    }),
    guards: ['writersKeep', 'queriesAreBounded', 'atOnceWithoutAnyRow', 'deletesOlder'],
  },
  'the same in the other order': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [movingQuery(['b', 'a'], 'one by one', g), write(['b'], g), write(['a'], g), clock(3)],
    }),
    guards: ['writersKeep', 'queriesAreBounded', 'atOnceWithoutAnyRow', 'deletesOlder'],
  },
  'a cleaner passes that has read the entity some time ago': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [movingQuery(['b', 'a'], 'all first', g), write(['b'], g), movingSweep(g), clock(2)],
    }),
    guards: ['cleanersKeep', 'countsFromAfterReading', 'queriesAreBounded', 'atOnceWithoutAnyRow'],
  },
  'a cleaner passes that looks again, while the entity moves to and fro': {
    build: (g) => ({
      world: movingWorld(['b'], { rows: { a: 9, b: 10 } }),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        write(['a'], g),
        write(['b'], g),
        movingSweep(g, { looksAgain: true }),
        clock(1),
      ],
    }),
    guards: ['cleanersKeep', 'countsPerVersion', 'writersKeep', 'deletesOlder'],
  },
  'a cleaner fences off a writer that has died, whose row an earlier version had': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        write(['b'], g),
        dyingWriter(['a'], g),
        movingSweep(g),
        clock(1),
      ],
    }),
    guards: ['keepsFencedOff', 'cleanersKeep', 'writersKeep'],
  },
  'an entity loses all rows, gets one again, and moves': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        write([], g),
        write(['a'], g),
        write(['b'], g),
        clock(1),
      ],
    }),
    guards: ['deletesOlder', 'writersKeep', 'queriesAreBounded'],
  },
  'an entity loses all rows and gets one again beside a cleaner': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        write([], g),
        write(['b'], g),
        movingSweep(g),
        clock(1),
      ],
    }),
    guards: ['deletesOlder', 'cleanersKeep'],
  },
  'a deleted entity is fenced off by a cleaner, and comes back': {
    build: (g) => ({
      world: movingWorld([], { rows: { a: 9 } }),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        dyingWriter(['a'], g),
        write(['a'], g),
        movingSweep(g),
        clock(1),
      ],
    }),
    guards: ['deletesOlder'],
  },
  'an entity leaves what is asked for, comes back and moves': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['b', 'a'], 'all first', g),
        write(['x'], g),
        write(['a'], g),
        write(['b'], g),
        clock(1),
      ],
    }),
    guards: ['deletesOlder', 'writersKeep', 'queriesAreBounded', 'atOnceWithoutAnyRow'],
  },
  'an entity has a row at both places, now and then': {
    build: (g) => ({
      world: movingWorld(['a', 'b']),
      processes: [
        movingQuery(['b', 'a'], 'one by one', g),
        write(['a'], g),
        write(['b'], g),
        movingSweep(g),
        clock(1),
      ],
    }),
    guards: ['writersKeep', 'cleanersKeep'],
  },
  'the row of a move is deferred, and drained': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['a', 'b'], 'one by one', g, { looksForNotes: true }),
        write(['b'], g, { defers: 'b' }),
        write(['a'], g),
        movingDrain(g),
        clock(1),
      ],
    }),
    guards: ['givesWhatItPassedOver', 'writersKeep'],
  },
  'the row of a move is deferred, and drained, and the old one read last': {
    build: (g) => ({
      world: movingWorld(['a']),
      processes: [
        movingQuery(['b', 'a'], 'all first', g, { looksForNotes: true }),
        write(['b'], g, { defers: 'b' }),
        movingDrain(g),
        clock(1),
      ],
    }),
    guards: ['writersKeep', 'cleanersKeep'],
  },
}

function check(build: Build, guards: MovingGuards): ReturnType<typeof explore> {
  return explore({ ...build(guards), local: noRecollection, always: missedOrMissing })
}

describe.each(Object.entries(situations))('%s', (name, { build, guards }) => {
  if (isWhole(situations, name))
    it(
      'a query returns an entity that matches all the time, or says that it is incomplete',
      { timeout: 600_000 },
      () => {
        const { violation, states } = check(build, allMovingGuards)
        expect(violation).toBeUndefined()
        expect(states).toBeGreaterThan(500)
      },
    )

  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = check(build, { ...allMovingGuards, [guard]: false })
    expect(violation?.what).toMatch(/has missed the entity|no row for it/)
  })
})

it('some situation needs each guard of the moving query', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(Object.keys(allMovingGuards).filter((guard) => !tested.has(guard as keyof MovingGuards))).toEqual([])
})
