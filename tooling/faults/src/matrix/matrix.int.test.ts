import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findServer } from '@looseleaf-tooling/mariadb'
import { startCluster, type Cluster } from '../cluster/cluster.ts'
import { runScenario } from './run-scenario.ts'
import { scenarios, scenariosNamed } from './scenarios.ts'

// Servers that are given from outside cannot be killed, so these tests need the program itself.
const lacks = findServer() === undefined
const LIMIT_MS = 180_000

describe.skipIf(lacks)(`faults${lacks ? ' (left out: needs the program mariadbd)' : ''}`, () => {
  let cluster: Cluster | undefined

  beforeAll(async () => {
    cluster = await startCluster()
  }, LIMIT_MS)
  afterAll(() => cluster?.stop(), LIMIT_MS)

  const short = scenarios.flatMap((scenario) =>
    scenario.short === undefined ? [] : [{ scenario, name: scenario.name, amount: scenario.short }],
  )

  test.each(short)(
    'under $name nothing that was acknowledged is lost',
    { timeout: LIMIT_MS },
    async ({ scenario, amount }) => {
      const run = await runScenario(scenario, cluster, { seed: 1, amount })
      expect(run.wrongs).toEqual([])
      // Nothing is proved where nothing is done, or nothing goes wrong.
      expect(Math.min(run.counts.acknowledged, run.watch.looks)).toBeGreaterThan(0)
      expect(Math.max(...Object.values(run.facts))).toBeGreaterThan(0)
    },
  )
})

describe('the matrix', () => {
  test('each fault has a name of its own', () => {
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length)
  })

  test('a name that is nobody’s is refused', () => {
    expect(() => scenariosNamed(['kill -9 of servers', 'flood'])).toThrow(/no fault flood/)
  })
})
