import Table from 'cli-table3'
import { spreadOf, type Spread } from '../measure/statistics.ts'
import { formatCosts, formatNumber } from './numbers.ts'
import { ratioOf } from './ratios.ts'
import type { ResultRow } from './results.ts'

/** Formats the rows of a part as a table for the terminal. */
export function formatPart(title: string, rows: readonly ResultRow[]): string {
  const head = [
    '',
    'callers',
    'side',
    'calls/s',
    'ratio',
    'p50 ms',
    'p99 ms',
    'client µs',
    'server µs',
    'statements',
  ]
  const table = new Table({
    head,
    colAligns: head.map((_, i) => (i === 0 || i === 2 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  })
  for (const row of rows) {
    const ratio = ratioOf(rows, row)
    table.push([
      `${row.scenario}${variantOf(row)}`,
      row.callers,
      row.side,
      formatSpread({
        median: row.opsPerSecond,
        min: row.spread.opsPerSecond[0],
        max: row.spread.opsPerSecond[1],
      }),
      ratio === undefined ? '' : formatSpread(spreadOf(ratio), '×'),
      ...formatCosts(row),
    ])
  }
  return `${title}\n${table.toString()}\nratio: Looseleaf's calls a second to this side's, round by round.`
}

/** Returns the conditions of a row that differ from the usual ones. */
function variantOf({ processes, bag, rate, networkMs, entities, shards, indexes, part }: ResultRow): string {
  const words = [
    ...(processes === 1 ? [] : [`${processes} processes`]),
    ...(bag === null ? [] : [`${bag} bytes`]),
    ...(rate === null ? [] : [`${rate}/s`]),
    ...(networkMs === 0 ? [] : [`${networkMs} ms away`]),
    ...(part === 'entities' ? [`${entities} entities`] : []),
    ...(part === 'shards' ? [`${shards} shards`] : []),
    ...(part === 'indexes' ? [`${indexes} indexes`] : []),
  ]
  return words.length === 0 ? '' : `, ${words.join(', ')}`
}

function formatSpread({ median, min, max }: Spread, unit = ''): string {
  return `${formatNumber(median)}${unit} (${formatNumber(min)}–${formatNumber(max)})`
}
