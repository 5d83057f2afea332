import Table from 'cli-table3'
import type { BackendResult, ScenarioResult } from '../bench.ts'
import type { SideResult } from '../measure/compare.ts'
import type { Spread } from '../measure/statistics.ts'
import { formatMaybe, formatNumber } from './numbers.ts'

/** The results of one backend: how fast, and what a call took. */
export function formatTables(result: BackendResult): string {
  return [
    `${result.title}`,
    speedTable(result.scenarios),
    'Per call (medians)',
    costTable(result.scenarios),
  ].join('\n')
}

function speedTable(scenarios: readonly ScenarioResult[]): string {
  const table = newTable(['', 'callers', 'Looseleaf /s', 'hand-written /s', 'ratio', 'p50 ms', 'p99 ms'])
  for (const { scenario, callers, ratio, sides } of scenarios) {
    const { looseleaf, 'hand-written': handWritten } = sides
    table.push([
      scenario,
      callers,
      formatSpread(looseleaf.callsPerSecond),
      formatSpread(handWritten.callsPerSecond),
      formatSpread(ratio, '×'),
      `${formatNumber(looseleaf.p50.median)} : ${formatNumber(handWritten.p50.median)}`,
      `${formatNumber(looseleaf.p99.median)} : ${formatNumber(handWritten.p99.median)}`,
    ])
  }
  return table.toString()
}

function costTable(scenarios: readonly ScenarioResult[]): string {
  const table = newTable([
    '',
    'callers',
    'statements',
    'flushes',
    'client CPU µs',
    'server CPU µs',
    'CPU ratio',
  ])
  for (const { scenario, callers, sides } of scenarios) {
    const pair = (name: keyof SideResult['perCall']): string =>
      `${formatMaybe(sides.looseleaf.perCall[name])} : ${formatMaybe(sides['hand-written'].perCall[name])}`
    const ratio = cpuOf(sides['hand-written']) / cpuOf(sides.looseleaf)
    table.push([
      scenario,
      callers,
      pair('statements'),
      pair('flushes'),
      pair('clientCpu'),
      pair('serverCpu'),
      `${formatNumber(ratio)}×`,
    ])
  }
  return table.toString()
}

/** µs of a call on both ends, as far as they are known. */
function cpuOf({ perCall }: SideResult): number {
  return perCall.clientCpu + (perCall.serverCpu ?? 0)
}

function newTable(head: string[]): Table.Table {
  return new Table({
    head,
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  })
}

function formatSpread({ median, min, max }: Spread, unit = ''): string {
  return `${formatNumber(median)}${unit} (${formatNumber(min)}–${formatNumber(max)})`
}
