import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { markdownTable, type Column } from './markdown-table.ts'
import { scenarios } from './matrix/scenarios.ts'
import {
  loadResults,
  type Circumstances,
  type HistoryResultFile,
  type ResultFile,
  type ScenarioResultFile,
} from './results.ts'

const PAGE = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url))

/** Writes the page from the last results, and answers its path. Throws when there are none. */
export function writeReport(): string {
  const results = loadResults()
  if (results.length === 0)
    throw new Error('There are no results yet: run `pnpm faults history` or `matrix`.')
  writeFileSync(PAGE, renderReport(results))
  return PAGE
}

const number = (value: number): string => Math.round(value).toLocaleString('en-US')
const left = (title: string): Column => ({ title, align: 'left' })
const right = (title: string): Column => ({ title, align: 'right' })

export function renderReport(results: readonly ResultFile[]): string {
  const history = results.find((result) => result.kind === 'history')
  const faults = scenarios.flatMap(({ name }) =>
    results.filter((result) => result.kind === 'fault' && result.name === name),
  ) as ScenarioResultFile[]
  const parts = [
    intro(results),
    ...(history === undefined ? [] : [historyPart(history)]),
    ...(faults.length === 0 ? [] : [faultsPart(faults)]),
    notMeasured(results),
    repeat(),
  ]
  return `${parts.join('\n\n')}\n`
}

function intro(results: readonly ResultFile[]): string {
  const each = (pick: (result: Circumstances) => string | number): string =>
    [...new Set(results.map(pick))].toSorted().join(', ')
  return `# Reliability, measured

This page is written by \`pnpm faults report\` from what the last runs measured; do not edit it. Real processes write and
read the same entities on real database servers, and every answer is held against every other and against the tables.

Measured on: ${each(({ at }) => at.slice(0, 10))}; server ${each(({ server }) => /Ver (\S+)/.exec(server)?.[1] ?? server)}; Node ${each(({ node }) => node)};
${each(({ cpus }) => cpus)} processor cores for servers, processes and checkers together; 2 shards, with\ntheir data in ${each(({ folder }) => folder)}.`
}

function historyPart({ run }: HistoryResultFile): string {
  const { counts, watch, final } = run
  const rows: [string, string][] = [
    ['operations', number(counts.operations)],
    ['processes, and callers in each', `${run.processes}, ${run.clients}`],
    ['entities that all fight over, and others', `${run.hot}, ${run.cold}`],
    ['seconds', number(run.seconds)],
    ['writes acknowledged', number(counts.acknowledged)],
    ['writes refused, nearly all because the entity was there or not', number(counts.failed)],
    ['writes of unknown outcome', number(counts.unknown)],
    ['reads by id', number(counts.reads)],
    ['queries', number(counts.queries)],
    ['entities that queries had to find, summed up', number(counts.expectedInQueries)],
    ['rows looked for while it went on', number(watch.looks)],
    ['**rows missing at any moment**', `**${number(watch.missing.length)}**`],
    ['index rows in the end', number(final.rows)],
    ['rows missing before the sweep', number(final.missingBeforeSweep)],
    ['rows dangling before the sweep', number(final.danglingBeforeSweep)],
    ['rows missing or dangling after one sweep', number(final.missing + final.dangling)],
    ['**answers that cannot be**', `**${number(run.wrongs.length)}**`],
    ['seed', String(run.seed)],
  ]
  return `## A history under load

No faults but those of competition: 7 in 10 operations go to the same few entities, and one process runs a cleaner that
fences writers after 20 ms. Judged by what each caller was told and when: versions are the order of states, nobody sees a
state before it was called for or after it was over, no update is lost, nothing that was refused takes place, and a query
has every entity that matched from its beginning to its end.

${markdownTable([left('what'), right('measured')], rows)}

The checker can fail: with one guard of the protocol off (an upsert that overwrites the stamp, a removal or a replacement
that is not guarded), the default tests require that it finds losses.`
}

function faultsPart(results: readonly ScenarioResultFile[]): string {
  const whats = results.map(({ name, run }) => {
    const scenario = scenarios.find((each) => each.name === name)
    const facts = Object.entries(run.facts)
      .filter(([fact]) => fact !== scenario?.unit)
      .map(([fact, value]) => `${number(value)} ${fact}`)
    return [
      name,
      scenario?.what ?? '',
      `${number(run.facts[scenario?.unit ?? ''] ?? run.amount)} ${scenario?.unit ?? ''}`,
      facts.join(', '),
    ]
  })
  const outcomes = results.map(({ name, run }) => {
    const { counts, watch, final } = run
    return [
      name,
      number(counts.acknowledged),
      number(counts.unknown),
      number(counts.reads + counts.queries),
      number(watch.looks),
      number(watch.missing.length + final.missingBeforeSweep),
      `${number(final.danglingBeforeSweep)}, ${number(final.dangling)}`,
      number(final.leakedConnections),
      number(counts.longestMs),
      run.recoveredMs === undefined ? 'never' : number(run.recoveredMs),
      number(run.peakHeapMiB),
      run.wrongs.length === 0 ? 'held' : `BROKEN: ${number(run.wrongs.length)}`,
    ]
  })
  const broken = results.filter(({ run }) => run.wrongs.length > 0)
  return `## Faults

The same load and the same checks, while something goes wrong. Statements and connects have a deadline of one second.

${markdownTable([left('fault'), left('what goes wrong'), right('how much'), left('besides')], whats)}

What came of it. "missing" counts index rows that a committed entity lacked at any moment of the run, or at its end before
anything was repaired; "dangling" those that no entity has, before one sweep and after it; "left" the connections that the
servers still had when every process was gone. "held" means that no acknowledged write was lost, nothing that was reported
as failed took place, no answer was impossible, nothing was missing, dangling after the sweep, left over or hanging.

${markdownTable(
  [
    left('fault'),
    right('acknowledged'),
    right('unknown'),
    right('reads, queries'),
    right('rows looked for'),
    right('missing'),
    right('dangling'),
    right('left'),
    right('longest call, ms'),
    right('all write again, ms'),
    right('peak heap, MiB'),
    left('verdict'),
  ],
  outcomes,
)}${broken.map(brokenPart).join('')}`
}

/** What was found, one sentence of each kind, without the ids. */
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

function notMeasured(results: readonly ResultFile[]): string {
  const lines = scenarios.flatMap(({ name }) => {
    const result = results.find((each) => each.kind !== 'history' && each.name === name)
    if (result === undefined) return [`- ${name}: not run yet.`]
    return result.kind === 'skipped' ? [`- ${name}: skipped, ${result.reason}.`] : []
  })
  const known = [
    '- A crash of the machine itself: a server that is killed loses nothing that it gave to the operating system.',
    '- Replicas and failover between servers.',
    '- MySQL: only MariaDB was run here.',
  ]
  return `## Not measured\n\n${[...lines, ...known].join('\n')}`
}

function repeat(): string {
  return `## To repeat it

\`\`\`sh
pnpm faults history --seed 1
pnpm faults matrix --seed 1
pnpm faults matrix 'kill -9 of servers' --amount 50
pnpm faults report
\`\`\`

The seed decides what is written and what goes wrong; when it happens depends on the machine, so two runs are never the
same. Short forms of both run with the default tests.`
}
