import { describe, expect, it } from 'vitest'
import { explore } from './explore.ts'
import {
  administrator,
  allIndexGuards,
  cleanerOf,
  indexWorld,
  indexWriter,
  missingFromTable,
  noKnowledge,
  type IndexGuards,
  type IndexProcess,
} from './index-life.ts'
import { isWhole } from './is-whole.ts'

/** Writers and cleaners beside an administrator. Each of them may hold the catalog of any earlier time. */
const situations: Record<
  string,
  { build: (guards: IndexGuards) => readonly IndexProcess[]; guards: readonly (keyof IndexGuards)[] }
> = {
  'an index is dropped and one of another definition added': {
    build: (g) => [administrator(g, 'drop, add'), indexWriter('b', g), indexWriter('a', g)],
    guards: ['commitFence', 'tableGoesFirst', 'knownBeforeFilling'],
  },
  'a changed generation is added beside the old one, which goes then': {
    build: (g) => [administrator(g, 'add, drop'), indexWriter('b', g), indexWriter('a', g)],
    guards: ['commitFence', 'tableGoesFirst', 'knownBeforeFilling'],
  },
  'shards do not answer when writers begin, one shard for one writer and one for the other, while an index goes':
    {
      build: (g) => [administrator(g, 'drop, add'), indexWriter('b', g, 0), indexWriter('a', g, 1)],
      guards: ['commitFence', 'tableGoesFirst', 'knownBeforeFilling', 'changesReachAll'],
    },
  'the shard that leads does not answer when writers begin, while an index comes': {
    build: (g) => [administrator(g, 'add, drop'), indexWriter('b', g, 0), indexWriter('a', g, 0)],
    guards: ['commitFence', 'knownBeforeFilling', 'changesReachAll'],
  },
  'the shard of the entity does not answer when writers begin, while an index comes': {
    build: (g) => [administrator(g, 'add, drop'), indexWriter('b', g, 1), indexWriter('a', g, 1)],
    guards: ['commitFence', 'knownBeforeFilling', 'changesReachAll'],
  },
  'an entity is deleted and created again meanwhile': {
    build: (g) => [administrator(g, 'add, drop'), indexWriter(undefined, g), indexWriter('a', g)],
    guards: ['commitFence', 'tableGoesFirst'],
  },
  'a cleaner of the old generation works on with what it knew': {
    build: (g) => [administrator(g, 'drop, add'), indexWriter('b', g), cleanerOf(0)],
    guards: ['commitFence', 'tableGoesFirst'],
  },
  'a cleaner of the new generation works on with what it knew': {
    build: (g) => [administrator(g, 'add, drop'), indexWriter('b', g), cleanerOf(1)],
    guards: ['commitFence', 'tableGoesFirst'],
  },
}

function check(processes: readonly IndexProcess[]): ReturnType<typeof explore> {
  return explore({
    world: indexWorld(),
    local: noKnowledge,
    processes,
    crashes: 1,
    always: missingFromTable,
  })
}

describe.each(Object.entries(situations))(
  '%s, with index statements that no epoch fences',
  (name, situation) => {
    if (isWhole(situations, name))
      it('no readable table lacks the row of a committed entity', { timeout: 600_000 }, () => {
        const { violation, states } = check(situation.build(allIndexGuards))
        expect(violation).toBeUndefined()
        expect(states).toBeGreaterThan(1000)
      })

    it.each(situation.guards)('the promise breaks without the guard %s', { timeout: 600_000 }, (guard) => {
      const { violation } = check(situation.build({ ...allIndexGuards, [guard]: false }))
      expect(violation?.what).toMatch(/has no row for it/)
    })
  },
)
