import { describe, expect, test } from 'vitest'
import { whatDidNotHappen } from './did-nothing.ts'
import type { ScenarioRun } from './run-scenario.ts'
import type { Scenario } from './scenario.ts'

const run = {
  facts: { faults: 3, crashes: 0 },
  counts: {
    operations: 9,
    acknowledged: 9,
    failed: 0,
    unknown: 0,
    reads: 0,
    queries: 9,
    notIndexed: 0,
    incompleteQueries: 0,
    queriesOfReplicas: 0,
    expectedInQueries: 9,
    lackedInQueries: 0,
    errors: { SHARD_BUSY: 2 },
    longestMs: 1,
  },
  watch: { looks: 9, again: 0, excused: 0, kept: 0, missing: [], unreachable: 0 },
  promised: 'always',
} satisfies Partial<ScenarioRun>

test('a run in which everything happened reports nothing', () => {
  expect(whatDidNotHappen({}, run)).toEqual([])
  expect(whatDidNotHappen({ needs: ['faults'], needsErrors: ['SHARD_BUSY'] }, run)).toEqual([])
})

describe('a run did nothing', () => {
  test.each<[string, Pick<Scenario, 'needs' | 'needsErrors' | 'config'>, Partial<typeof run> | object]>([
    ['no acknowledged writes', {}, { counts: { ...run.counts, acknowledged: 0 } }],
    ['no entities that queries had to find', {}, { counts: { ...run.counts, expectedInQueries: 0 } }],
    ['no rows looked for', {}, { watch: { ...run.watch, looks: 0 } }],
    ['no faults', {}, { facts: { faults: 0, crashes: 1 } }],
    ['no crashes', { needs: ['faults', 'crashes'] }, {}],
    ['no kills', { needs: ['kills'] }, {}],
    ['no caller that was told DEADLINE', { needsErrors: ['DEADLINE'] }, {}],
    ['no writes without their index rows', {}, { promised: 'unless pending' }],
    ['no rows that came late', {}, { promised: 'in the end' }],
    ['no rows of states that were replaced', { config: { writing: { deleteDelayMs: 1 } } }, {}],
  ])('with %s', (what, scenario, changes) => {
    expect(whatDidNotHappen(scenario, { ...run, ...changes })).toContain(`did nothing: ${what}`)
  })
})
