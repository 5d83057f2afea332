import { expect, test } from 'vitest'
import { renderReport } from './report.ts'
import type { ScenarioResultFile } from './results.ts'

const circumstances = {
  at: '2026-01-02T03:04:05.000Z',
  server: '10.11',
  node: 'v24',
  cpus: 2,
  commit: 'abc',
  folder: '/tmp',
}

function faultResult(wrongs: readonly string[]): ScenarioResultFile {
  return {
    kind: 'fault',
    name: 'kill -9 of servers',
    ...circumstances,
    run: {
      seed: 1,
      seconds: 9,
      amount: 50,
      processes: 3,
      facts: { kills: 50 },
      counts: {
        operations: 9,
        acknowledged: 1234,
        failed: 1,
        unknown: 2,
        reads: 3,
        queries: 4,
        expectedInQueries: 5,
        errors: {},
        longestMs: 6.4,
      },
      watch: { looks: 7, again: 0, missing: [], unreachable: 1 },
      final: {
        entities: 1,
        rows: 2,
        missingBeforeSweep: 0,
        danglingBeforeSweep: 8,
        missing: 0,
        dangling: 0,
        checkedMissing: 0,
        checkedDangling: 0,
        leakedConnections: 0,
        wrongs: [],
      },
      recoveredMs: 12,
      peakHeapMiB: 50,
      hanging: 0,
      wrongs,
    },
  }
}

test('what was measured stands in the page, and what was not run is named', () => {
  const page = renderReport([faultResult([])])
  expect(page).toMatch(/kill -9 of servers +\| mariadbd is killed.*50 kills/)
  expect(page).toMatch(/kill -9 of servers +\| +1,234 .* held/)
  expect(page).toContain('- SIGSTOP of writers: not run yet.')
  expect(page).not.toContain('kill -9 of servers: not run')
})

test('a fault that broke something says what, once for each kind and without ids', () => {
  const id = '01a1fa88-6da2-7d43-a738-3758fae4ac79'
  const page = renderReport([faultResult([`${id}: gave version 12345`, `${id}: gave version 67890`])])
  expect(page).toMatch(/BROKEN: 2/)
  expect(page).toContain('- 2 times: …: gave version N')
})

test('a fault that the machine cannot have is named with the reason', () => {
  const page = renderReport([
    { kind: 'skipped', name: 'full disk', reason: 'needs a mount', ...circumstances },
  ])
  expect(page).toContain('- full disk: skipped, needs a mount.')
})
