import type { SimulationResultFile } from '@looseleaf-tooling/simulation'
import { markdownTable } from '../markdown-table.ts'
import { left, number, right, wordsOf } from './format.ts'

/** Faults and options whose name needs explaining. */
const WORDS: Readonly<Record<string, string>> = {
  beyondPromise: 'with a fall-back of a whole shard, which is beyond the promise',
  withDeleteDelay: 'with deleteDelayMs',
  withWrongClocks: 'with wrong clocks of processes',
  deferring: "with onIndexFailure 'defer'",
  errorBefore: 'a refused statement',
  errorAfter: 'an answer that never arrives',
  late: 'a statement without an answer that takes place later, or never',
  duplicate: 'a write that takes place twice',
  crash: 'a process crash',
  pause: 'a process frozen between two steps',
  shardDown: 'a shard down',
  failover: 'a failover that loses the last commits',
  diskHangs: 'a hanging disk, while commits are visible',
  serverCrash: 'a server crash, which undoes commits that are not on disk',
  withReplicas: 'with reads from replicas',
  withSharedCache: 'with a shared cache',
  near: 'with entities near each other',
  joined: 'with a shard that joined',
  removed: 'with a shard that was removed',
  replicaStops: 'a replica that replays nothing for a while',
  replicaDies: 'a replica that restarts, with fewer changes or as a new server',
  replicaPromoted: 'a promotion of a replica',
  cacheFails: 'a failure of the shared cache',
  cacheStands: 'a shared cache that does not answer for a while',
  cacheEvicts: 'a shared cache that loses its contents',
}

/** Work of the clients in runs with a single kind of life. */
const ALONE: Readonly<Record<string, string>> = {
  keys: 'Entities that compete for keys of unique indexes',
  moves: 'Entities that move between shards',
  everything: 'Clients that do everything',
}

/** Parts that every life of a run has. */
const WITH: Readonly<Record<string, string>> = {
  replicas: 'reads from replicas',
  cache: 'a shared cache',
  moves: 'buckets that move',
  near: 'entities near each other',
}

/** Renders the run in which every seed chooses its life, and the runs with a single kind of life. */
export function simulationPart(files: readonly SimulationResultFile[]): string {
  const tables = files
    .map((file) => ({ heading: headingOf(file.run), table: tableOf(file) }))
    .toSorted((a, b) => Number(a.heading !== '') - Number(b.heading !== ''))
    .map(({ heading, table }) => `${heading === '' ? '' : `### ${heading}\n\n`}${table}`)
  return `## Simulation

The real store, index engine and cleaner run over databases in memory; a seed decides every step, time and fault. Several processes
write, read, query and change the indexes. After each step that changes a table, no ready index may lack a row of a committed entity
that the options of that life promise.

${tables.join('\n\n')}`
}

function headingOf({ clients, parts = [] }: SimulationResultFile['run']): string {
  const alone = clients === undefined ? [] : [ALONE[clients] ?? clients]
  const every = parts.length === 0 ? [] : [`Every life with ${parts.map((part) => WITH[part]).join(' and ')}`]
  return [...alone, ...every].join('. ')
}

function tableOf({ run, commit }: SimulationResultFile): string {
  const counted = (prefix: string, counts: Readonly<Record<string, number>>): [string, string][] =>
    Object.entries(counts).map(([name, count]) => [`${prefix}${WORDS[name] ?? wordsOf(name)}`, number(count)])
  const rows: [string, string][] = [
    ['seeds, a life of a store each', `${number(run.seeds)}, from ${number(run.from)} to ${number(run.to)}`],
    ...counted('lives, ', run.lives),
    ['steps: statements that arrived, and timers', number(run.steps)],
    ['operations', number(run.operations)],
    [
      'writes acknowledged, refused, of unknown outcome',
      [run.acknowledged, run.failed, run.unknown].map(number).join(', '),
    ],
    ['reads by id, queries', [run.reads, run.queries].map(number).join(', ')],
    ...counted('faults, ', run.faults),
    ['checks of all tables for missing rows', number(run.checks)],
    ['**seeds that broke a promise**', `**${number(run.violations.length)}**`],
    ['commit', commit],
  ]
  const broken = run.violations.slice(0, 5).map(({ seed, what }) => `- seed ${seed}: ${what}`)
  return `${markdownTable([left('measurement'), right('measured')], rows)}${broken.length === 0 ? '' : `\n\n${broken.join('\n')}`}`
}
