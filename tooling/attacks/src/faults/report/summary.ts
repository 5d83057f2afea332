import type { SimulationResultFile } from '@looseleaf-tooling/simulation'
import { markdownTable } from '../markdown-table.ts'
import type { GaleraResultFile, HistoryResultFile } from '../results.ts'
import { faultsIn, verdictOf, type Measured } from './faults-part.ts'
import { left, number, right, some, sum } from './format.ts'
import { galeraHeld } from './galera-part.ts'
import type { OnMysql } from './mysql-part.ts'
import { TABLES } from './runs-part.ts'

export interface Everything {
  readonly history: HistoryResultFile | undefined
  readonly simulations: readonly SimulationResultFile[]
  readonly faults: readonly Measured[]
  readonly failovers: readonly Measured[]
  readonly galera: readonly GaleraResultFile[]
  readonly mysql: OnMysql | undefined
  /** Scenarios without a result, by name. */
  readonly notRun: readonly string[]
  /** Scenarios whose last run was aborted by something else. */
  readonly brokeOff: readonly string[]
}

/** Renders each run and its outcome, one line each. */
export function summary(everything: Everything): string {
  const { history, simulations, faults, failovers, galera, mysql, notRun, brokeOff } = everything
  const rows = [
    ...simulations.map(({ run }) => [
      `simulation, every step by a seed${run.clients === undefined ? '' : `, ${run.clients} alone`}${(run.parts ?? []).map((part) => `, with ${part}`).join('')}`,
      number(run.operations),
      number(sum(Object.values(run.faults))),
      `${number(run.seeds)} seeds`,
      run.violations.length === 0 ? 'held' : `BROKEN: ${run.violations.length}`,
    ]),
    ...historyRow('history on real servers, no faults', history),
    ...matrixRow(`${faults.length} kinds of faults on real servers`, faults),
    ...matrixRow(`${failovers.length} kinds of failover to a replica`, failovers),
    ...galeraRow(galera),
    ...(mysql === undefined
      ? []
      : [
          ...historyRow('the history on MySQL', mysql.history),
          ...matrixRow(`${mysql.measured.length} kinds of faults and failovers on MySQL`, mysql.measured),
        ]),
  ]
  const isBroken = rows.some((row) => row.at(-1) !== 'held')
  const total = (column: number): string =>
    `**${number(sum(rows.map((row) => Number((row[column] ?? '').replaceAll(',', '')))))}**`
  rows.push(['**all together**', total(1), total(2), '', isBroken ? '**not all held**' : '**held**'])
  const columns = [
    left('what was run'),
    right('operations'),
    right('faults'),
    right('chance from'),
    left('verdict'),
  ]
  const verdict = isBroken
    ? 'Some runs broke a promise: the table names them.'
    : 'No acknowledged write was lost, no ready index missed an entity, and no answer was impossible.'
  return `Real processes wrote and read the same entities on real database servers while faults of servers, networks and processes were
injected. Every answer was compared with all others and with the tables. **${verdict}** All runs used one machine and none lasted
for days: see [what was not measured](#not-measured).

${markdownTable(columns, rows)}${listed('Not run', notRun)}${listed('Broke off', brokeOff)}

Operations are answered calls: reads, queries and writes, including refused ones. Each kind of fault has its own unit: connections
damaged or killed, processes killed or stopped, locks held, settings changed. The runs also [found mistakes](${TABLES}#found-and-fixed-on-the-way), which are fixed.`
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `\n\n${what}: ${names.join('; ')}.`
}

function historyRow(what: string, history: HistoryResultFile | undefined): string[][] {
  if (history === undefined) return []
  const { counts, seed, wrongs } = history.run
  const verdict = wrongs.length === 0 ? 'held' : `BROKEN: ${wrongs.length}`
  return [[what, number(counts.operations), '0', `seed ${seed}`, verdict]]
}

function matrixRow(what: string, measured: readonly Measured[]): string[][] {
  if (measured.length === 0) return []
  const bad = measured.filter(({ result }) => result.run.wrongs.length > 0)
  const seeds = [...new Set(measured.map(({ result }) => result.run.seed))]
  return [
    [
      what,
      number(sum(measured.map(({ result }) => result.run.counts.operations))),
      number(sum(measured.map(faultsIn))),
      `seed ${some(seeds.map(String))}`,
      bad.length === 0
        ? 'held'
        : `${measured.length - bad.length} held; ${some(bad.map(({ result }) => `${result.name}: ${verdictOf(result.run)}`))}`,
    ],
  ]
}

function galeraRow(results: readonly GaleraResultFile[]): string[][] {
  const rounds = results.flatMap(({ content }) => ('rounds' in content ? [content] : []))
  if (rounds.length === 0) return []
  const broken = rounds.filter((content) => !galeraHeld(content)).length
  const operations = sum(
    rounds.map(
      ({ tally }) => tally.acknowledged + sum(Object.values(tally.refused)) + tally.unknown + tally.looks,
    ),
  )
  return [
    [
      'a Galera cluster that loses the node it is written to',
      number(operations),
      number(sum(rounds.map((content) => content.rounds.length))),
      'no seed',
      broken === 0 ? 'held' : `BROKEN: ${broken} of ${rounds.length} runs`,
    ],
  ]
}
