import { markdownTable } from '../markdown-table.ts'
import type { HistoryResultFile } from '../results.ts'
import { faultsIn, verdictOf, type Measured } from './faults-part.ts'
import { left, number, right } from './format.ts'

/** Runs on MySQL; all other runs of the page were on MariaDB. */
export interface OnMysql {
  readonly server: string
  readonly history: HistoryResultFile | undefined
  readonly measured: readonly Measured[]
}

/** Renders the runs on MySQL, one line each. */
export function mysqlPart({ server, history, measured }: OnMysql): string {
  const rows = measured.map((each) => {
    const { scenario, result } = each
    const { counts, watch, final, amount } = result.run
    const size = amount < scenario.full ? ` of ${number(scenario.full)}` : ''
    return [
      scenario.name,
      `${number(faultsIn(each))}${size} ${scenario.unit}`,
      number(counts.operations),
      number(counts.acknowledged),
      number(counts.unknown),
      number(watch.looks + watch.kept),
      number(watch.missing.length + final.missingBeforeSweep),
      verdictOf(result.run),
    ]
  })
  if (history !== undefined) {
    const { counts, watch, final, wrongs } = history.run
    rows.unshift([
      'history, no faults',
      '',
      number(counts.operations),
      number(counts.acknowledged),
      number(counts.unknown),
      number(watch.looks),
      number(watch.missing.length + final.missingBeforeSweep),
      wrongs.length === 0 ? 'held' : `BROKEN: ${number(wrongs.length)}`,
    ])
  }
  const columns = [
    left('run'),
    right('amount'),
    right('operations'),
    right('acknowledged'),
    right('unknown'),
    right('rows looked for'),
    right('missing'),
    left('verdict'),
  ]
  return `## On MySQL

The runs above, with the same load and checks, on MySQL ${server}. "missing" has the same meaning. In failovers with
semi-synchronous replication, the old primary does not return as a replica, because MySQL does not take back commits that no replica
has received.

${markdownTable(columns, rows)}`
}
