import { findServer } from '@looseleaf-tooling/mariadb'
import { isLong, someOf } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { describe, expect, test } from 'vitest'
import { flaws, type Flaw } from '../load/flawed-driver.ts'
import { runHistory } from './run-history.ts'
import { runReplicatedHistory } from './run-replicated-history.ts'

const LIMIT_MS = 240_000
// External servers have no replicas.
const lacks = findServer() === undefined

const noticed: Readonly<Record<Flaw, RegExp>> = {
  'upsert overwrites': /missing|lacks it/,
  'remove is unguarded': /missing|lacks it/,
  'replace is unguarded': /lost update|came back|came between/,
  'lost rows go at once': /a query by_group .* lacks it/,
}

describe(`processes on real databases${lacks ? ' (replicas are left out: they need the program mariadbd or mysqld)' : ''}`, () => {
  test(
    'every answer fits a history, and in the end the tables are exact',
    { timeout: LIMIT_MS },
    async () => {
      const { urls } = await freshShards(2)
      const run = await runHistory({
        urls,
        seed: 1,
        processes: 3,
        clients: 6,
        operations: isLong ? 1_400 : 300,
        hot: 10,
      })
      expect(run.wrongs).toEqual([])
      // An empty history would pass too.
      expect(Math.min(run.counts.acknowledged, run.counts.reads, run.watch.looks)).toBeGreaterThan(80)
      expect(run.counts.expectedInQueries).toBeGreaterThan(80)
    },
  )

  test.skipIf(lacks)('reads from stale replicas fit a history', { timeout: LIMIT_MS }, async ({ skip }) => {
    skip(
      !isLong,
      'it takes ten seconds; LOOSELEAF_LONG=1 runs it, and the simulation has replicas in every run',
    )
    const run = await runReplicatedHistory({
      seed: 3,
      processes: 2,
      clients: 6,
      operations: isLong ? 1_200 : 250,
      hot: 10,
      replicasEach: 1,
    })
    expect(run.wrongs).toEqual([])
    expect(run.counts.acknowledged).toBeGreaterThan(60)
    expect(run.counts.queriesOfReplicas).toBeGreaterThan(2)
  })

  // A run notices nothing unless calls happen to meet where the guard is needed. The simulation finds the same flaws in every run.
  test.each(someOf(flaws, 0))(
    'the checker notices a missing guard: %s',
    { timeout: LIMIT_MS, retry: 3 },
    async (flaw) => {
      const { urls } = await freshShards(2)
      const run = await runHistory({ urls, seed: 2, processes: 3, clients: 6, operations: 700, hot: 8, flaw })
      expect(run.wrongs.join('\n')).toMatch(noticed[flaw])
    },
  )
})
