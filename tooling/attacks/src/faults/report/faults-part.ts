import { markdownTable } from '../markdown-table.ts'
import type { ScenarioRun } from '../matrix/run-scenario.ts'
import type { Scenario } from '../matrix/scenario.ts'
import type { ScenarioResultFile } from '../results.ts'
import { left, number, right } from './format.ts'

/** A scenario with the result of its last run. */
export interface Measured {
  readonly scenario: Scenario
  readonly result: ScenarioResultFile
}

/** Number of faults, as the scenario counts them. */
export function faultsIn({ scenario, result: { run } }: Measured): number {
  return run.facts[scenario.unit] ?? Object.values(run.facts)[0] ?? 0
}

export function verdictOf({ wrongs, didNothing }: ScenarioRun): string {
  if (wrongs.length === 0) return 'held'
  return wrongs.length === didNothing.length ? 'did nothing' : `BROKEN: ${number(wrongs.length)}`
}

export function faultsPart(measured: readonly Measured[]): string {
  return `## Faults

The same load and the same checks under faults. Statements and connects have a deadline of one second.

${whatTable(measured)}

Outcomes, with these columns:

- "meanwhile": writes that were acknowledged while the fault lasted.
- "missing": index rows that a committed entity lacked at any moment of the run, or at its end before any repair.
- "excused": absent rows that the options of the stores allow, because they are pending or written after their entity.
- "dangling": rows without an entity, before the sweep and after it.

Verdicts:

- **held**: no acknowledged write was lost, no failed write took place, no answer was impossible, no row was missing, pending or
  dangling after the sweep, no connection or socket was left, no call hung, and no memory grew.
- **did nothing**: the fault did not happen, or nothing was written or checked, so the run proves nothing.

${outcomeTable(measured)}${brokenParts(measured)}

Resources, each for the process or server with the highest value. Peaks are of samples once a second. Growth is measured from the
first collection after ten seconds to one at the end; – if a run is too short. Sockets are those of one process to all shards: the
peak, after its calls had ended, and after its store was closed. Connections are those of the load on one server: after recovery
under load, their limit, and after every process had ended.

${resourceTable(measured)}`
}

/** Renders failovers, in which the databases themselves lose acknowledged writes. */
export function failoverPart(measured: readonly Measured[]): string {
  return `## Failover to a replica

Each shard is a primary and a replica. If the replica lags, a failover loses acknowledged writes, which no store can prevent. Such a
run holds if no other write is lost, no surviving entity lacks a row that \`deleteDelayMs\` keeps, and one sweep makes all tables exact.
The last run deliberately omits the setting. "missing" counts all absent rows; the verdict counts only those that are not allowed.

${whatTable(measured)}

${outcomeTable(measured)}${brokenParts(measured)}`
}

function whatTable(measured: readonly Measured[]): string {
  const rows = measured.map(({ scenario, result: { run } }) => {
    const { name, what, unit, full } = scenario
    const facts = Object.entries(run.facts)
      .filter(([fact]) => fact !== unit)
      .map(([fact, value]) => `${number(value)} ${fact}`)
    const amount = number(run.facts[unit] ?? run.amount)
    const howMuch = run.amount < full ? `${amount} of ${number(full)} ${unit}` : `${amount} ${unit}`
    return [name, what, howMuch, facts.join(', ')]
  })
  return markdownTable([left('fault'), left('description'), right('amount'), left('counted')], rows)
}

function outcomeTable(measured: readonly Measured[]): string {
  const rows = measured.map(({ scenario, result: { run } }) => {
    const { counts, watch, final } = run
    return [
      scenario.name,
      number(counts.acknowledged),
      number(run.acknowledgedMeanwhile),
      number(counts.unknown),
      number(counts.reads + counts.queries),
      number(watch.looks + watch.kept),
      number(watch.missing.length + final.missingBeforeSweep),
      number(watch.excused + final.excusedBeforeSweep),
      `${number(final.danglingBeforeSweep)}, ${number(final.dangling)}`,
      number(counts.longestMs),
      run.recoveredMs === undefined ? 'never' : number(run.recoveredMs),
      verdictOf(run),
    ]
  })
  const columns = [
    left('fault'),
    right('acknowledged'),
    right('meanwhile'),
    right('unknown'),
    right('reads, queries'),
    right('rows looked for'),
    right('missing'),
    right('excused'),
    right('dangling'),
    right('longest call, ms'),
    right('all write again, ms'),
    left('verdict'),
  ]
  return markdownTable(columns, rows)
}

function resourceTable(measured: readonly Measured[]): string {
  const mib = (value: number | undefined): string =>
    value === undefined ? '–' : value.toFixed(1).replace(/^-0\.0$/, '0.0')
  const rows = measured.map(({ scenario, result: { run } }) => {
    const { resources, connections, final } = run
    return [
      scenario.name,
      number(run.processes),
      mib(resources.peakHeap),
      mib(resources.heapGrowth),
      mib(resources.rssGrowth),
      `${resources.peakSockets}, ${resources.idleSockets}, ${resources.leftSockets}`,
      `${connections.found} of ${connections.allowed}, ${final.leakedConnections}`,
    ]
  })
  const columns = [
    left('fault'),
    right('processes'),
    right('peak heap, MiB'),
    right('heap growth, MiB'),
    right('rss growth, MiB'),
    right('sockets'),
    right('connections'),
  ]
  return markdownTable(columns, rows)
}

function brokenParts(measured: readonly Measured[]): string {
  return measured
    .filter(({ result }) => result.run.wrongs.length > 0)
    .map(({ result }) => brokenPart(result))
    .join('')
}

/** Renders one violation of each kind, without ids. */
function brokenPart({ name, run }: ScenarioResultFile): string {
  const kinds = new Map<string, number>()
  for (const wrong of run.wrongs) {
    const kind = wrong.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…').replaceAll(/\d{4,}/g, 'N')
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  const lines = [...kinds]
    .slice(0, 5)
    .map(([kind, count]) => `- ${count === 1 ? 'once' : `${count} times`}: ${kind}`)
  return `\n\nFound with "${name}":\n\n${lines.join('\n')}`
}
