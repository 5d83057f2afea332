import { markdownTable } from '../markdown-table.ts'
import type { GaleraResultFile, GaleraRounds } from '../results.ts'
import { left, number, right, span, sum, wordsOf } from './format.ts'

/** Renders the runs that took away the written node, and the single experiments. */
export function galeraPart(results: readonly GaleraResultFile[]): string {
  const rounds = results.flatMap(({ name, content }) => ('rounds' in content ? [{ name, content }] : []))
  const lines = results.flatMap(({ name, content }) => ('rounds' in content ? [] : probeLines(name, content)))
  return `## Galera

Three nodes are one shard, and callers write to one node at a time. The written node is killed or stopped under load, the callers
move to the next one, and the node comes back. The table has the last run of each kind from \`docs/measured/galera\`.

${roundsTable(rounds)}${lines.length === 0 ? '' : `\n\n${lines.join('\n')}`}`
}

/** True if no acknowledged write was lost or late and all nodes are equal in the end. */
export function galeraHeld({ tally, end, nodesEqual }: GaleraRounds): boolean {
  return tally.wrongs.length + tally.staleLooks + end.missing + end.dangling === 0 && nodesEqual
}

function roundsTable(results: readonly { readonly name: string; readonly content: GaleraRounds }[]): string {
  const rows = results.map(({ name, content }) => {
    const { tally, rounds, end } = content
    return [
      name,
      `${rounds.length} ${content.options.fault ?? 'kill'}s`,
      number(tally.acknowledged),
      number(sum(Object.values(tally.refused))),
      `${number(tally.unknown)}: ${number(tally.unknownDone)}, ${number(tally.unknownNotDone)}`,
      number(tally.looks),
      number(tally.staleLooks),
      `${number(end.missing)}, ${number(end.dangling)}`,
      span(
        rounds.map(({ firstWriteMs }) => firstWriteMs / 1000),
        1,
      ),
      span(
        rounds.map(({ rejoinMs }) => rejoinMs / 1000),
        1,
      ),
      galeraHeld(content) ? 'held' : 'BROKEN',
    ]
  })
  const columns = [
    left('run'),
    right('faults'),
    right('acknowledged'),
    right('refused'),
    right('unknown: done, not done'),
    right('looks'),
    right('stale'),
    right('missing, dangling at the end'),
    right('first write after, s'),
    right('node back after, s'),
    left('verdict'),
  ]
  return markdownTable(columns, rows)
}

/** Renders each figure of a result without rounds. */
function probeLines(name: string, content: object): string[] {
  return Object.entries(content).flatMap(([part, value]): string[] => {
    if (CIRCUMSTANCES.has(part)) return []
    const numbers = numbersIn(value)
    return numbers.length === 0 ? [] : [`- ${name}, ${part}: ${numbers.join(', ')}.`]
  })
}

const CIRCUMSTANCES = new Set(['at', 'server', 'node', 'cpus', 'commit', 'callers', 'examples'])

function numbersIn(value: unknown): string[] {
  if (typeof value === 'number') return [number(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]): string[] => {
    if (typeof inner === 'number') return [`${number(inner)} ${wordsOf(name)}`]
    return Object.keys(inner as object).length === 0 || name === 'examples'
      ? []
      : [`${wordsOf(name)}: ${numbersIn(inner).join(', ')}`]
  })
}
