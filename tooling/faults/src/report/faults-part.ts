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

The same load and the same checks, while something goes wrong. Statements and connects have a deadline of one second.

${whatTable(measured)}

What came of it. "meanwhile" counts the writes that were acknowledged while the fault lasted. "missing" counts index rows
that a committed entity lacked at any moment of the run, or at its end before anything was repaired; "excused" those that
the options of the stores allow, because they were noted as pending or come after their entity; "dangling" those that no
entity has, before one sweep and after it.

- **held**: no acknowledged write was lost, nothing that was reported as failed took place, no answer was impossible,
  nothing was missing, dangling after the sweep, pending, left over, hanging or growing.
- **did nothing**: what was to go wrong did not happen, or nothing was written or looked at, so the run shows nothing.

${outcomeTable(measured)}${brokenParts(measured)}

What the processes and servers had, each time the one that had the most. Peaks are of samples once a second; growth is
between the first collection after ten seconds and one at the very end, and – where a run did not last so long. Sockets are
those of one process to all shards: at the most, when its calls had ended, and after its store was closed. Connections are
those of the load on one server: when all was well again and the load went on, how many there may be then, and what was
left when every process was gone.

${resourceTable(measured)}`
}

/** Renders failovers, in which the databases themselves lose acknowledged writes. */
export function failoverPart(measured: readonly Measured[]): string {
  return `## Failover to a replica

Each shard is a primary and a replica. Where the replica lags, a failover loses acknowledged writes, whatever is above it;
then a run holds when nothing else is lost, when no entity that is there lacks a row that \`deleteDelayMs\` keeps, and when
one sweep makes everything exact. The last one leaves the setting out on purpose. "missing" counts whatever was not there,
be it allowed or not; what was not allowed is in the verdict.

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
  return markdownTable([left('fault'), left('what goes wrong'), right('how much'), left('counted')], rows)
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
