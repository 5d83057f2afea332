import { describe, expect, test } from 'vitest'
import { noFaults, noTotals } from '@looseleaf-tooling/simulation'
import { renderReport as renderPages } from './report.ts'
import type { ScenarioResultFile } from './results.ts'

/** Both pages as one text. */
const renderReport = (...given: Parameters<typeof renderPages>): string => {
  const { page, tables } = renderPages(...given)
  return `${page}\n${tables}`
}

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
        notIndexed: 0,
        incompleteQueries: 0,
        queriesOfReplicas: 0,
        expectedInQueries: 5,
        lackedInQueries: 0,
        errors: {},
        longestMs: 6.4,
      },
      acknowledgedMeanwhile: 1000,
      promised: 'always',
      watch: { looks: 7, again: 0, excused: 0, kept: 0, missing: [], unreachable: 1 },
      final: {
        entities: 1,
        rows: 2,
        missingBeforeSweep: 0,
        danglingBeforeSweep: 8,
        excusedBeforeSweep: 0,
        pendingBeforeSweep: 0,
        missing: 0,
        dangling: 0,
        checkedMissing: 0,
        checkedDangling: 0,
        leakedConnections: 0,
        wrongs: [],
      },
      recoveredMs: 12,
      resources: {
        peakHeap: 50,
        heapGrowth: 0.5,
        rssGrowth: undefined,
        peakSockets: 12,
        idleSockets: 12,
        leftSockets: 0,
        grows: false,
      },
      connections: { found: 18, allowed: 21 },
      hanging: 0,
      didNothing: wrongs.filter((wrong) => wrong.startsWith('did nothing')),
      wrongs,
    },
  }
}

test('the page shows each measurement and names the scenarios that were not run', () => {
  const page = renderReport([faultResult([])])
  expect(page).toMatch(/kill -9 of servers +\| mariadbd is killed.*50 kills/)
  expect(page).toMatch(/kill -9 of servers +\| +1,234 .* held/)
  expect(page).toMatch(/Not run: .*SIGSTOP of writers/)
  expect(page).not.toMatch(/Not run: .*kill -9 of servers;/)
})

test('a fault that broke something shows each kind of violation once, without ids', () => {
  const id = '01a1fa88-6da2-7d43-a738-3758fae4ac79'
  const page = renderReport([faultResult([`${id}: gave version 12345`, `${id}: gave version 67890`])])
  expect(page).toMatch(/BROKEN: 2/)
  expect(page).toContain('- 2 times: …: gave version N')
})

test('a fault that the machine cannot cause is named with the reason', () => {
  const page = renderReport([
    { kind: 'skipped', name: 'full disk', reason: 'needs a mount', ...circumstances },
  ])
  expect(page).toContain('- full disk: skipped, needs a mount.')
})

test('a run that did nothing does not count as held', () => {
  const page = renderReport([faultResult(['did nothing: no kills'])])
  expect(page).toMatch(/\| did nothing +\|/)
  expect(page).toMatch(/1 kinds of faults on real servers.* 0 held; kill -9 of servers: did nothing/)
})

test('a short run is marked as short', () => {
  const short = faultResult([])
  const page = renderReport([{ ...short, run: { ...short.run, amount: 5, facts: { kills: 5 } } }])
  expect(page).toContain('5 of 50 kills')
})

test('an aborted run, or one of a removed scenario, does not count as a run', () => {
  const page = renderReport([
    { kind: 'broke off', name: 'kill -9 of servers', reason: 'no disk', ...circumstances },
    { ...faultResult([]), name: 'flood' },
  ])
  expect(page).toContain('Broke off: kill -9 of servers.')
  expect(page).toContain('- kill -9 of servers: broke off, no disk.')
  expect(page).not.toContain('flood')
})

test('the page lists every run with its seed and commit', () => {
  expect(renderReport([faultResult([])])).toMatch(/kill -9 of servers +\| +1 \| abc +\| 2026-01-02 03:04/)
})

describe('the report of a Galera cluster', () => {
  const content = {
    at: '2026-01-02T03:04:05.000Z',
    options: { fault: 'kill' },
    rounds: [
      { firstWriteMs: 6_200, rejoinMs: 5_000 },
      { firstWriteMs: 6_400, rejoinMs: 7_000 },
    ],
    tally: {
      acknowledged: 700,
      refused: { SHARD_UNAVAILABLE: 40, CLOSED: 2 },
      unknown: 3,
      unknownDone: 1,
      unknownNotDone: 2,
      looks: 900,
      staleLooks: 0,
      wrongs: [],
    },
    end: { missing: 0, dangling: 0 },
    nodesEqual: true,
  }

  test('a Galera run has a line for its rounds and one in the summary', () => {
    const page = renderReport([faultResult([])], [{ name: 'failover', content }])
    expect(page).toMatch(/failover +\| +2 kills \| +700 \| +42 \| +3: 1, 2 .* 6\.2–6\.4 .* 5\.0–7\.0 .* held/)
    expect(page).toMatch(/Galera cluster that loses.*\| +1,645 \| +2 \| .* held/)
    expect(page).toMatch(/Galera: failover +\| +\| not recorded/)
  })

  test('a Galera run that lost a write is shown as broken', () => {
    const broken = { ...content, tally: { ...content.tally, wrongs: ['a write is gone'] } }
    const page = renderReport([faultResult([])], [{ name: 'failover', content: broken }])
    expect(page).toMatch(/Galera cluster that loses.*BROKEN: 1 of 1 runs/)
  })

  test('the Galera section shows the figures of other experiments', () => {
    const fence = { at: content.at, same: { rounds: 60, late: 0 }, across: { rounds: 60, late: 25 } }
    const page = renderReport([faultResult([])], [{ name: 'fence', content: fence }])
    expect(page).toContain('- fence, across: 60 rounds, 25 late.')
  })
})

test('the page shows a simulation with its seeds, faults and violations', () => {
  const page = renderReport([
    {
      kind: 'simulation',
      at: '2026-01-02T03:04:05.000Z',
      node: 'v24.0.0',
      cpus: 2,
      commit: 'abc',
      run: {
        from: 1,
        to: 2000,
        processes: 2,
        seeds: 2000,
        seconds: 60,
        steps: 1_000_000,
        checks: 300_000,
        operations: 80_000,
        acknowledged: 40_000,
        failed: 5_000,
        unknown: 50,
        reads: 20_000,
        queries: 14_950,
        faults: { ...noFaults, crash: 70, shardDown: 30 },
        lives: { ...noTotals().lives, indexFirst: 1_500, entityFirst: 500 },
        moves: noTotals().moves,
        checked: noTotals().checked,
        violations: [
          { seed: 7, check: 'a read returns a state that the entity had during the read', what: 'missing' },
        ],
        parts: ['replicas', 'cache'],
      },
    },
  ])
  expect(page).toContain('### Every life with reads from replicas and a shared cache\n')
  expect(page).toMatch(
    /simulation, every step by a seed, with replicas, with cache +\| +80,000 \| +100 \| +2,000 seeds \| BROKEN: 1/,
  )
  expect(page).toMatch(/faults, a shard down +\| +30/)
  expect(page).toMatch(/\*\*all together\*\* +\| +\*\*80,000\*\* +\| +\*\*100\*\* .*\*\*not all held/)
  expect(page).toContain('- seed 7: missing')
})

test('the page shows mutants by package, with survivors and equivalents', () => {
  const file = (name: string, counts: [number, number, number], survived: string[]) => ({
    file: `packages/${name}.ts`,
    mutants: counts[0],
    killed: counts[1],
    hung: counts[2],
    survived,
    equivalent: [['f: a → b', 'It is the same.']] as const,
  })
  const page = renderReport([
    {
      kind: 'mutants',
      at: '2026-01-02T03:04:05.000Z',
      node: 'v24.0.0',
      cpus: 2,
      commit: 'abc',
      run: {
        seconds: 60,
        workers: 2,
        files: [
          file('store/src/one', [10, 8, 1], ['7 f: x → y']),
          file('store/src/two', [10, 10, 0], []),
          file('cleaner/src/three', [20, 20, 0], []),
        ],
      },
    },
  ])
  expect(page).toMatch(/\| store +\| +20 \| +18 \| +1 \| +1 \| +95\.0 % \| +2 \|/)
  expect(page).toMatch(/\| \*\*all\*\* +\| +40 \| +38 \| +1 \| +1 \| +97\.5 % \| +3 \|/)
  expect(page).toContain('- `packages/store/src/one.ts:7` `f: x → y`')
  expect(page).toContain('- `packages/store/src/one.ts` `f: a → b`: It is the same.')
})

test('the page has a part for MySQL and names the runs that are missing there', () => {
  const onMysql = { ...faultResult([]), server: '9.7.4', commit: 'def' }
  const page = renderReport([faultResult([])], [], [onMysql])
  expect(page).toMatch(/## On MySQL\n[^#]*on MySQL 9\.7\.4[^#]*kill -9 of servers +\| +50 kills[^#]*\| held/)
  expect(page).toMatch(/1 kinds of faults and failovers on MySQL +\| +9 \| +50 \|/)
  expect(page).toMatch(/MySQL: kill -9 of servers +\| +1 \| def/)
  expect(page).toMatch(/- On MySQL: .*SIGSTOP of writers/)
  expect(page).not.toMatch(/these runs used only MariaDB/)
  expect(renderReport([faultResult([])])).toMatch(/these runs used only MariaDB/)
})

test('the page of the outcome links to a section of the tables for each run', () => {
  const { page, tables } = renderPages([faultResult([])], [], [{ ...faultResult([]), server: '9.7.4' }])
  const sections = new Set(
    [...tables.matchAll(/^##+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-')),
  )
  const links = [...page.matchAll(/reliability-tables\.md#([\w-]+)/g)].map(([, anchor = '']) => anchor)
  expect(links).toContain('faults')
  expect(links).toContain('on-mysql')
  for (const link of links) expect(sections).toContain(link)
})
