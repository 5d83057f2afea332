import Table from 'cli-table3'
import { formatNumber } from '../report/numbers.ts'
import type { LiveIndexResult } from './run-live-index.ts'
import type { Latency } from './load-process.ts'

export function formatLiveIndex({ looseleaf, alterTable }: LiveIndexResult): string {
  const latencies = new Table({ head: ['ms of a call', 'calls', 'p50', 'p99', 'longest'] })
  const row = (period: string, { calls, p50, p99, max }: Latency): number =>
    latencies.push([period, calls, formatNumber(p50), formatNumber(p99), formatNumber(max)])
  row('store, load alone', looseleaf.before)
  row('store, three indexes filled', looseleaf.during)
  row('store, load alone after', looseleaf.after)
  row('JSON column, load alone', alterTable.before)
  row('JSON column, ALTER TABLE', alterTable.during)
  row('JSON column, load alone after', alterTable.after)

  const tables = new Table({ head: ['table', 'rows', 'missing', 'extra'] })
  for (const [table, { rows, missing, extra }] of Object.entries(looseleaf.compared)) {
    tables.push([table, rows, missing, extra])
  }
  return [
    latencies.toString(),
    `Errors of the load: store ${JSON.stringify(looseleaf.errors)}, JSON column ${JSON.stringify(alterTable.errors)}`,
    `Filled in ${formatNumber(looseleaf.fillSeconds)} s; killed twice: ${looseleaf.kills.join('; ')}.`,
    `${looseleaf.violations} duplicates listed; after they were resolved, ready in ${formatNumber(looseleaf.resolveSeconds)} s: ${JSON.stringify(looseleaf.states)}`,
    tables.toString(),
    ...alterTable.altered.map(
      ({ change, seconds, refused }) =>
        `${change}: ${formatNumber(seconds)} s${refused.length > 0 ? `, refused: ${refused.join('; ')}` : ''}`,
    ),
  ].join('\n')
}
