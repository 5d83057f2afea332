import type { SimulationResultFile } from '@looseleaf-tooling/simulation'
import { markdownTable } from '../markdown-table.ts'
import { left, number, right, wordsOf } from './format.ts'

/** Faults and options whose name needs explaining. */
const WORDS: Readonly<Record<string, string>> = {
  beyondPromise: 'in which a whole shard fell back, which is beyond the promise',
  withDeleteDelay: 'with deleteDelayMs',
  withWrongClocks: 'in which the clocks of processes are wrong',
  deferring: "with onIndexFailure 'defer'",
  errorBefore: 'a statement refused',
  errorAfter: 'an answer lost',
  late: 'an answer lost, and the statement carried out later or never',
  duplicate: 'a write carried out twice',
  crash: 'a process stopped dead',
  pause: 'a process frozen between two steps',
  shardDown: 'a shard down',
  failover: 'a failover that loses the last commits',
  diskHangs: 'a disk that hangs, while commits are visible',
  serverCrash: 'a server that crashes, and loses what was not on disk',
  withReplicas: 'in which replicas are read',
  withSharedCache: 'in which processes share a cache',
  replicaStops: 'a replica that replays nothing for a while',
  replicaDies: 'a replica that dies, and comes back with less, or as another one',
  replicaPromoted: 'a replica that takes the place of its primary',
  cacheFails: 'a failure of the shared cache',
  cacheStands: 'a shared cache that stands still',
  cacheEvicts: 'a shared cache that loses what it has',
}

/** Work of the clients in runs with a single kind of life. */
const ALONE: Readonly<Record<string, string>> = {
  keys: 'Entities that fight over keys of unique indexes',
  moves: 'Entities that move from shard to shard',
  everything: 'Clients that do everything',
}

/** Parts that every life of a run has. */
const WITH: Readonly<Record<string, string>> = {
  replicas: 'replicas that are read',
  cache: 'a cache that processes share',
}

/** Renders the run in which every seed chooses its life, and the runs with a single kind of life. */
export function simulationPart(files: readonly SimulationResultFile[]): string {
  const tables = files
    .map((file) => ({ heading: headingOf(file.run), table: tableOf(file) }))
    .toSorted((a, b) => Number(a.heading !== '') - Number(b.heading !== ''))
    .map(({ heading, table }) => `${heading === '' ? '' : `### ${heading}\n\n`}${table}`)
  return `## Simulation

The real store, index engine and cleaner over databases in memory, where every step, every moment and every fault is
decided by a seed: several processes write, read, query and change the indexes, and after each step that changes a table no
ready index may lack a row of anything committed that its life's options promise.

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
    ['looks at all tables for rows that are missing', number(run.checks)],
    ['**seeds that broke a promise**', `**${number(run.violations.length)}**`],
    ['commit', commit],
  ]
  const broken = run.violations.slice(0, 5).map(({ seed, what }) => `- seed ${seed}: ${what}`)
  return `${markdownTable([left('what'), right('measured')], rows)}${broken.length === 0 ? '' : `\n\n${broken.join('\n')}`}`
}
