import { describe, expect, it } from 'vitest'
import { explore, type Event } from './explore.ts'
import { isWhole } from './is-whole.ts'
import {
  allUniqueGuards,
  claimCleaner,
  fallBack,
  keyTwice,
  lateStatement,
  noAttempt,
  put,
  replicate,
  unclaimedKey,
  uniqueWorld,
  type UniqueGuards,
  type UniqueProcess,
  type UniqueWorld,
} from './unique.ts'

interface Situation {
  readonly world: UniqueWorld
  readonly build: (guards: UniqueGuards) => readonly UniqueProcess[]
  /** Guards without which the situation breaks. */
  readonly guards: readonly (keyof UniqueGuards)[]
  readonly events?: readonly Event<UniqueWorld>[]
  readonly crashes?: number
  /** True if keys may end without a claim, because a failover brings back an entity whose claim is gone. */
  readonly losesClaims?: boolean
}

/** Clocks of two processes: equal, or either one ahead. */
const skews = [
  [0, 0, 0],
  [5, 0, 0],
  [0, 5, 0],
  [0, 0, 5],
] as const

const situations: Record<string, (ahead: readonly number[]) => Situation> = {
  'two entities want one key': ([p, q]) => ({
    world: uniqueWorld([undefined, undefined]),
    build: (g) => [put(0, 'K', g, { ahead: p!, tries: 2 }), put(1, 'K', g, { ahead: q!, tries: 2 })],
    guards: ['looksAtOwner', 'fence'],
  }),
  'three entities want one key': () => ({
    world: uniqueWorld([undefined, undefined, undefined]),
    build: (g) => [put(0, 'K', g), put(1, 'K', g), put(2, 'K', g)],
    guards: ['looksAtOwner', 'fence'],
    crashes: 0,
  }),
  'two writers of one entity and one of another': ([p, q, r]) => ({
    world: uniqueWorld([undefined, undefined]),
    build: (g) => [
      put(0, 'K', g, { ahead: p! }),
      put(0, 'K', g, { ahead: q! }),
      put(1, 'K', g, { ahead: r! }),
    ],
    guards: ['looksAtOwner', 'fence', 'fenceAboveStamp', 'swapComparesStamp', 'compareAndSwap'],
    crashes: 0,
  }),
  'a key is given up and taken by another': ([p, q]) => ({
    world: uniqueWorld(['K', undefined]),
    build: (g) => [
      [...put(0, 'L', g, { ahead: p! }), ...relabelled(put(0, 'K', g, { ahead: p! }))],
      put(1, 'K', g, { ahead: q! }),
    ],
    guards: ['looksAtOwner', 'fence'],
  }),
  'two entities change keys': ([p, q]) => ({
    world: uniqueWorld(['K', 'L']),
    build: (g) => [put(0, 'L', g, { ahead: p! }), put(1, 'K', g, { ahead: q! })],
    guards: ['looksAtOwner'],
  }),
  'an entity is deleted and comes back while another takes its key': ([p, q, r]) => ({
    world: uniqueWorld(['K', undefined]),
    build: (g) => [
      put(0, undefined, g, { ahead: p! }),
      put(1, 'K', g, { ahead: q! }),
      put(0, 'K', g, { ahead: r! }),
    ],
    guards: ['looksAtOwner', 'fence', 'releaseOlder'],
    crashes: 0,
  }),
  'a statement arrives a second time': ([p, q]) => ({
    world: uniqueWorld([undefined, undefined]),
    build: (g) => [put(0, 'K', g, { ahead: p! }), put(1, 'K', g, { ahead: q! })],
    guards: ['looksAtOwner', 'fence'],
    events: [lateStatement],
  }),
  'a cleaner releases what it finds': ([p, q]) => ({
    world: uniqueWorld(['K', undefined]),
    build: (g) => [
      put(0, 'L', g, { ahead: p! }),
      put(1, 'K', g, { ahead: q! }),
      claimCleaner(0, ['K', 'L'], g),
    ],
    guards: ['looksAtOwner', 'releaseOlder'],
    crashes: 0,
  }),
  'an index is added while keys change': ([, q, r]) => ({
    world: uniqueWorld(['K', undefined], { claims: {} }),
    build: (g) => [
      put(0, undefined, g, { fills: true }),
      put(0, 'L', g, { ahead: q! }),
      put(1, 'L', g, { ahead: r! }),
    ],
    guards: ['looksAtOwner', 'fence'],
    crashes: 0,
  }),
  'a server crashes that has shown more than is on disk': () => ({
    world: uniqueWorld(['K', undefined], { losing: 'until flushed' }),
    build: (g) => [put(0, 'L', g), put(1, 'K', g)],
    guards: ['flush'],
    events: [fallBack],
    losesClaims: true,
  }),
  'a failover loses the last commits': () => ({
    world: uniqueWorld(['K', undefined], { losing: 'until replicated' }),
    build: (g) => [put(0, 'L', g), put(0, 'K', g), put(1, 'K', g)],
    guards: ['waitsForReplicas'],
    events: [fallBack, replicate],
    crashes: 0,
    losesClaims: true,
  }),
}

/** Returns a second operation of a process, with labels of its own. */
function relabelled(steps: UniqueProcess): UniqueProcess {
  return steps.map((step) => ({
    label: `then ${step.label}`,
    run(world, local, process) {
      const result = step.run(world, local, process)
      return typeof result === 'object' ? { goto: `then ${result.goto}` } : result
    },
  }))
}

function check({ world, build, events, crashes = 1, losesClaims }: Situation, guards: UniqueGuards) {
  return explore({
    world,
    local: noAttempt,
    processes: build(guards),
    events: events ?? [],
    crashes,
    always: keyTwice,
    ...(losesClaims ? {} : { atRest: unclaimedKey }),
  })
}

describe.each(Object.entries(situations))('%s', (name, situation) => {
  // A situation without clocks is the same for all skews.
  const all = (situation.length === 0 ? [[]] : skews).map((ahead) => situation(ahead))

  if (isWhole(situations, name))
    it(
      'no two entities share a key at any instant, and every key is claimed in the end',
      { timeout: 600_000 },
      () => {
        for (const each of all) expect(check(each, allUniqueGuards).violation).toBeUndefined()
      },
    )

  it.each(all[0]!.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
    const found = all.flatMap((each) => check(each, { ...allUniqueGuards, [guard]: false }).violation ?? [])
    expect(found.length).toBeGreaterThan(0)
  })
})
