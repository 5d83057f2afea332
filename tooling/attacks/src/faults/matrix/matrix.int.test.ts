import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findServer } from '@looseleaf-tooling/mariadb'
import { isLong, someOf } from '@looseleaf-tooling/vitest/long'
import { createConnection } from 'mysql2/promise'
import { type Cluster, LOAD_USER, startCluster } from '../../lab/cluster.ts'
import { createStore } from '../history/run-history.ts'
import { checkInTheEnd } from '../watch/final-check.ts'
import { openTables } from '../watch/tables.ts'
import { runScenario } from './run-scenario.ts'
import { scenarios, scenariosNamed } from './scenarios.ts'

// External servers cannot be killed, so these tests need a server program.
const lacks = findServer() === undefined
const LIMIT_MS = 180_000

describe.skipIf(lacks)(`faults${lacks ? ' (left out: needs the program mariadbd or mysqld)' : ''}`, () => {
  let cluster: Cluster | undefined

  beforeAll(async () => {
    cluster = await startCluster()
  }, LIMIT_MS)
  afterAll(() => cluster?.stop(), LIMIT_MS)

  const short = scenarios.flatMap((scenario) =>
    scenario.short === undefined ? [] : [{ scenario, name: scenario.name, amount: scenario.short }],
  )

  test.each(someOf(short, 2))(
    'no acknowledged write is lost under $name',
    { timeout: LIMIT_MS },
    async ({ scenario, amount }) => {
      const run = await runScenario(scenario, cluster, { seed: 1, amount, restMs: isLong ? 0 : 10 })
      // `wrongs` includes that nothing was done or nothing went wrong.
      expect(run.wrongs).toEqual([])
    },
  )

  test('a leaked connection on a server is counted', { timeout: LIMIT_MS }, async () => {
    const database = await cluster?.createDatabase()
    if (database === undefined) throw new Error('There is no cluster.')
    await createStore(database.adminUrls(), 1, 1)
    const tables = openTables(() => database.adminUrls())
    const left = await createConnection(database.urls[0] ?? '')
    try {
      const { leakedConnections, wrongs } = await checkInTheEnd(tables, database.adminUrls(), LOAD_USER, {
        quietMs: 0,
      })
      expect(leakedConnections).toBe(1)
      expect(wrongs).toEqual(['1 connections are left on the servers'])
    } finally {
      left.destroy()
      tables.close()
      await database.drop()
    }
  })
})

describe('the matrix', () => {
  test('each scenario has a distinct name', () => {
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length)
  })

  test('an unknown name of a scenario is refused', () => {
    expect(() => scenariosNamed(['kill -9 of servers', 'flood'])).toThrow(/Unknown fault flood/)
  })
})
