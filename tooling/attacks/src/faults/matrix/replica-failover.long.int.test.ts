import { findServer } from '@looseleaf-tooling/mariadb'
import { describe, expect, test } from 'vitest'
import { semiSyncFailover } from './replica-failover.ts'
import { runScenario } from './run-scenario.ts'

// External servers cannot be killed, so this test needs a server program.
const lacks = findServer() === undefined
const LIMIT_MS = 180_000

describe.skipIf(lacks)(`replicas${lacks ? ' (left out: needs the program mariadbd or mysqld)' : ''}`, () => {
  test('a failover with semi-synchronous replication loses nothing', { timeout: LIMIT_MS }, async () => {
    const run = await runScenario(semiSyncFailover(), undefined, { seed: 1, amount: 1 })
    expect(run.wrongs).toEqual([])
    expect(Math.min(run.counts.acknowledged, run.watch.looks, run.facts['failovers'] ?? 0)).toBeGreaterThan(0)
  })
})
