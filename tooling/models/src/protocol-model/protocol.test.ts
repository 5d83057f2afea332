import { describe, expect, it } from 'vitest'
import { backfill, drain, entitySweep, indexSweep, purge } from './cleaner.ts'
import { explore, type Configuration, type Event } from './explore.ts'
import { isWhole } from './is-whole.ts'
import {
  allGuards,
  emptyLocal,
  emptyWorld,
  falseAcknowledgement,
  mayInsert,
  missingRow,
  worldWith,
  type Guards,
  type Local,
  type World,
} from './world.ts'
import { writer } from './writer.ts'

type Build = (guards: Guards) => Omit<Configuration<World, Local>, 'local' | 'always' | 'atRest'>

/** A statement that its sender gave up on arrives after the entity has reached that version. */
const lateUpsert = (key: string, version: number): Event<World> => ({
  label: `a late upsert of ${key} at ${version}`,
  possible: (world) => world.version >= version,
  happen: (world) => void (world.rows[key] = Math.max(world.rows[key] ?? 0, version)),
})

/** An insert that its sender gave up on arrives after the entity was deleted and its tombstone purged. */
const lateInsert = (keys: string[], version: number, guards: Guards): Event<World> => ({
  label: `a late insert at ${version}`,
  possible: (world) => world.version === 0,
  happen: (world) => void (mayInsert(world, version, guards) && Object.assign(world, { version, keys })),
})

/** A deleted entity with a row that its writer has not deleted. */
const deleted = (): World => emptyWorld({ version: 20, rows: { a: 10 } })

const failover: Event<World> = {
  label: 'a failover loses the commits that the replica had not got',
  possible: (world) => world.replica !== undefined,
  happen: (world) => void Object.assign(world, { ...world.replica, replica: undefined }),
}
const replication: Event<World> = {
  label: 'the replica gets all commits',
  possible: (world) => world.replica !== undefined,
  happen: (world) => void (world.replica = undefined),
}
const outage: Event<World> = {
  label: 'the index shard goes down',
  possible: (world) => !world.shardDown,
  happen: (world) => void (world.shardDown = true),
}
const recovery: Event<World> = {
  label: 'the index shard is back',
  possible: (world) => world.shardDown,
  happen: (world) => void (world.shardDown = false),
}

/** Every situation with the guards that it needs: without any one of them the promise must break. */
const situations: Record<string, { build: Build; guards: readonly (keyof Guards)[] }> = {
  'three writers flip-flop between two keys beside a sweep': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer(['a'], g), writer(['b'], g), indexSweep(g)],
      crashes: 1,
    }),
    guards: [
      'rowsFirst',
      'keepGreatest',
      'compareAndSwap',
      'writerDeletesOlder',
      'cleanerDeletesOlder',
      'fenceFirst',
    ],
  },
  'an entity is created, deleted and created again beside a sweep': {
    build: (g) => ({
      world: emptyWorld(),
      processes: [writer(['a'], g), writer([], g), writer(['a'], g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['rowsFirst', 'cleanerDeletesOlder', 'fenceFirst'],
  },
  'two writers beside two sweeps': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer(['a'], g), indexSweep(g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['rowsFirst', 'cleanerDeletesOlder', 'fenceFirst'],
  },
  'a sweep that read the entity long before the index': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer(['a'], g), indexSweep(g, { entityFirst: true })],
      crashes: 1,
    }),
    guards: ['cleanerDeletesOlder', 'fenceFirst'],
  },
  'a sweep in the other direction beside writers': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer(['a'], g), entitySweep(g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['rowsFirst', 'fenceFirst'],
  },
  'upserts that time out and arrive late': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer(['a'], g), indexSweep(g)],
      events: [lateUpsert('b', 20), lateUpsert('a', 21)],
      crashes: 1,
    }),
    guards: ['rowsFirst', 'cleanerDeletesOlder', 'fenceFirst'],
  },
  'two rows gained at once, on two shards, in either order': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b', 'c'], g), writer(['c', 'a'], g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['rowsFirst', 'cleanerDeletesOlder', 'fenceFirst', 'writerDeletesOlder'],
  },
  'an index shard that is down while writers may not defer': {
    build: (g) => ({
      world: worldWith(['a'], { shardDown: true }),
      processes: [writer(['c'], g), writer(['b'], g), indexSweep(g)],
      events: [recovery],
    }),
    guards: ['rowsFirst', 'fenceFirst'],
  },
  'writers that defer the rows of a shard that is down': {
    build: (g) => ({
      world: worldWith(['a'], { shardDown: true }),
      processes: [writer(['c'], g, { defer: true }), writer(['d'], g, { defer: true }), drain(g)],
      events: [recovery],
    }),
    guards: ['drainOlder', 'rowsFirst'],
  },
  'a deferred row is left over from before, and its delete is still on its way': {
    build: (g) => ({
      world: worldWith(['c']),
      processes: [writer(['a'], g), writer(['c'], g, { defer: true }), drain(g)],
      events: [outage, recovery],
      crashes: 1,
    }),
    guards: ['drainStamps', 'writerDeletesOlder'],
  },
  'deferred rows are drained while a failover may lose the last commits': {
    build: (g) => ({
      world: worldWith(['a'], { shardDown: true, lagging: true }),
      processes: [writer(['c'], g, { defer: true }), writer(['d'], g, { defer: true }), drain(g)],
      events: [recovery, failover, replication],
    }),
    guards: ['drainDelay', 'rowsFirst'],
  },
  'an index is added while a failover may lose the last commits': {
    build: (g) => ({
      world: worldWith(['a'], { index: 'absent', rows: {}, lagging: true }),
      processes: [backfill(g), writer(['b'], g), writer(['a'], g)],
      events: [failover, replication],
    }),
    guards: ['fillDelay', 'epochFence'],
  },
  'an index is added while writers know the old catalog': {
    build: (g) => ({
      world: worldWith(['a'], { index: 'absent', rows: {} }),
      processes: [backfill(g), writer(['b'], g), writer(['a'], g)],
      crashes: 1,
    }),
    guards: ['epochFence', 'raiseBeforeBackfill', 'rowsFirst'],
  },
  'an index is added beside a sweep': {
    build: (g) => ({
      world: worldWith(['a'], { index: 'absent', rows: {} }),
      processes: [backfill(g), writer(['b'], g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['epochFence', 'raiseBeforeBackfill'],
  },
  'the answer to a commit is lost and the version is read back': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g, { answerLost: true }), writer(['c'], g, { answerLost: true })],
    }),
    guards: ['uniqueVersions', 'rowsFirst'],
  },
  'a tombstone is purged while the entity is created again beside sweeps': {
    build: (g) => ({
      world: deleted(),
      processes: [writer(['a'], g), purge(g), indexSweep(g, { entityFirst: true }), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['insertAbovePurged', 'raiseBeforePurge', 'rowsFirst', 'fenceFirst'],
  },
  'a tombstone is purged while two writers create and change the entity': {
    build: (g) => ({
      world: deleted(),
      processes: [writer(['a'], g), writer(['b'], g), purge(g), indexSweep(g)],
      crashes: 1,
    }),
    guards: ['purgeWithinBound', 'insertAbovePurged', 'rowsFirst'],
  },
  'an entity is deleted, and purged, while a writer knows it as it was before': {
    build: (g) => ({
      world: worldWith(['a']),
      processes: [writer(['b'], g), writer([], g), purge(g), writer(['c'], g)],
    }),
    guards: ['rowsFirst'],
  },
  'an insert arrives late, after the tombstone was purged': {
    build: (g) => ({
      world: deleted(),
      processes: [purge(g), indexSweep(g)],
      events: [lateInsert(['a'], 10, g)],
      crashes: 1,
    }),
    guards: ['insertAbovePurged', 'raiseBeforePurge'],
  },
  'a writer knows its last commit from memory beside other writers': {
    build: (g) => ({
      world: worldWith(['b'], { version: 21, rows: { b: 21, a: 10 } }),
      processes: [
        writer(['b'], g, { remembered: { version: 21, keys: ['b'] } }),
        writer(['a'], g),
        indexSweep(g),
      ],
      crashes: 1,
    }),
    guards: ['compareAndSwap'],
  },
  'a writer knows a commit from memory that a failover has lost, and another one gets its version': {
    build: (g) => ({
      world: {
        ...worldWith(['b'], { version: 21, rows: { b: 21, a: 10 }, lagging: true }),
        replica: { version: 10, keys: ['a'], pending: 0 },
      },
      processes: [
        writer(['b'], g, { remembered: { version: 21, keys: ['b'] } }),
        writer(['c'], g),
        indexSweep(g),
      ],
      events: [failover, replication],
    }),
    guards: ['bodyCompared'],
  },
  'a failover loses the last commit': {
    build: (g) => ({
      world: worldWith(['a'], { lagging: true }),
      processes: [writer(['b'], g), writer(['a'], g), entitySweep(g), indexSweep(g)],
      events: [failover, replication],
    }),
    guards: ['deleteDelay', 'askedWhenRead'],
  },
}

function check(build: Build, guards: Guards): ReturnType<typeof explore> {
  return explore({
    ...build(guards),
    local: emptyLocal,
    always: (world) => missingRow(world) ?? falseAcknowledgement(world),
  })
}

describe.each(Object.entries(situations))('%s', (name, { build, guards }) => {
  if (isWhole(situations, name))
    it('a ready index never lacks a committed row', { timeout: 600_000 }, () => {
      const { violation, states } = check(build, allGuards)
      expect(violation).toBeUndefined()
      expect(states).toBeGreaterThan(50)
    })

  it.each(guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const { violation } = check(build, { ...allGuards, [guard]: false })
    expect(violation?.what).toMatch(/no row for it|never took place/)
  })
})

it('some situation needs each guard of the protocol', () => {
  const tested = new Set(Object.values(situations).flatMap(({ guards }) => guards))
  expect(Object.keys(allGuards).filter((guard) => !tested.has(guard as keyof Guards))).toEqual([])
})
