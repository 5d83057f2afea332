import { describe, expect, it } from 'vitest'
import {
  allDurableGuards,
  announceIndex,
  brokenPromise,
  crashes,
  durableDrain,
  durableFilling,
  durableSweep,
  durableWorld,
  durableWriter,
  indexServerBack,
  indexServerDown,
  noMemory,
  type DurableGuards,
  type DurableWorld,
  type Memory,
} from './durability.ts'
import { explore, type Configuration } from './explore.ts'
import { isWhole } from './is-whole.ts'

type Build = (guards: DurableGuards) => Omit<Configuration<DurableWorld, Memory>, 'local' | 'always'>

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<string, { build: Build; guards: readonly (keyof DurableGuards)[] }> = {
  'a write passes its deadline and is read back, and the server crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'] }),
      processes: [durableWriter(['b'], g, { answerLost: true }), durableWriter(['c'], g)],
      events: crashes('entity', 2, 2),
      crashes: 1,
    }),
    guards: ['flushAtCommit', 'flushReadBack', 'lookAgain'],
  },
  'a cleaner deletes what a write has lost, and the server of the entity crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'] }),
      processes: [durableWriter(['b'], g), durableWriter(['a'], g), durableSweep(g)],
      events: crashes('entity', 2, 2),
      crashes: 1,
    }),
    guards: ['flushAtCommit', 'flushBeforeDelete', 'lookAgain'],
  },
  'two writers write one row, and the index server crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'] }),
      processes: [durableWriter(['b'], g), durableWriter(['b'], g), durableSweep(g)],
      events: crashes('rows', 2, 2),
      crashes: 1,
    }),
    guards: ['flushAtCommit', 'flushUnchanged', 'lookAgain'],
  },
  'deferred rows are drained, and the server of the entity crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'] }),
      processes: [durableWriter(['b'], g, { defer: true }), durableWriter(['a'], g), durableDrain(g)],
      events: [indexServerDown, indexServerBack, ...crashes('entity', 2, 2)],
      crashes: 1,
    }),
    guards: ['flushWhileDraining', 'flushBeforeNote', 'lookAgain'],
  },
  'an index is filled, and the server of the entity crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'], rows: [] }, { isReady: false }),
      processes: [durableFilling(g), durableWriter(['b'], g), durableWriter(['a'], g)],
      events: crashes('entity', 2, 2),
    }),
    guards: ['flushBeforeReady', 'lookAgain'],
  },
  'an index is filled that another process has announced, and the server of the entity crashes': {
    build: (g) => ({
      world: durableWorld({ keys: ['a'], rows: [], fenced: false }, { isReady: false }),
      processes: [announceIndex, durableFilling(g), durableWriter(['b'], g, { isBehind: true })],
      events: crashes('entity', 2, 2),
    }),
    guards: ['flushBeforeFilling', 'lookAgain'],
  },
}

function check(build: Build, guards: DurableGuards): ReturnType<typeof explore> {
  return explore({ ...build(guards), local: noMemory, always: brokenPromise })
}

describe.each(Object.entries(situations))('%s', (name, { build, guards }) => {
  if (isWhole(situations, name))
    it('every acknowledged write survives and no committed row is missing', { timeout: 600_000 }, () => {
      const { violation, states } = check(build, allDurableGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(1000)
    })

  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = check(build, { ...allDurableGuards, [guard]: false })
    expect(violation?.what).toMatch(/is gone|no row for it/)
  })
})

it('some situation needs each guard of the durable model', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(Object.keys(allDurableGuards).filter((guard) => !tested.has(guard as keyof DurableGuards))).toEqual(
    [],
  )
})
