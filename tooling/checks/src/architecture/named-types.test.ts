import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { entryOf } from './module-graph.ts'
import { root } from './repository.ts'

/** A module of a program whose exports have inferred types. */
const program = `
import {
  bucketRouter, checkIndex, cleanIndex, cleaning, consume, countNear, DataStore, defineIndex, defineKey, defineKind,
  evenBuckets, indexesOf, memoryShards, metaOf, mysqlShards, readCleanerReport, readConsumers, readDeadLetters,
  startCleaner, sweep, typed, upgradeKinds, watch,
} from 'looseleaf'

export const shards = mysqlShards([{ host: 'shard-0', database: 'app' }])
export const router = bucketRouter({ shards: 2 })
export const byUser = defineIndex('by_user', {
  properties: { user: 'uuid', published: { type: 'time', order: 'desc' }, tags: 'string[]' },
  shardOn: 'user',
  include: ['title'],
})
export const domain = defineKey({ name: 'domain', version: 1, from: 'string', derive: (mail: string) => mail })
export const byDomain = defineIndex('by_domain', {
  properties: { mail: { type: 'string', key: domain } },
  shardOn: 'mail',
})
export const Task = defineKind('task', {
  schema: typed<{ title: string; status: string; due?: Date }>(),
  indexes: {
    byStatus: { by: [{ status: 'string' }, { due: { type: 'time', nulls: 'last' } }], include: ['title'] },
  },
})
export const open = () =>
  DataStore.open({ shards: memoryShards(2), indexes: [byUser, byDomain, ...indexesOf(Task)], migrate: true })
export const store = await open()
export const tasks = Task.in(store)
export const { byStatus } = tasks

export const reads = {
  get: (id: string) => store.get(id),
  getMany: (ids: string[]) => store.getMany(ids),
  put: () => store.put({}),
  putMany: () => store.putMany([{}], { fates: true }),
  query: () => store.query(byUser, { user: 'a' }),
  queryMany: () => store.queryMany(byUser, [{ user: 'a' }]),
  queryIds: () => store.queryIds(byUser, { user: 'a' }),
  list: () => store.list(byUser, { user: 'a' }),
  intersect: () => store.intersect([{ index: byUser, where: { user: 'a' } }]),
  getAll: () => byUser.getAll(store, { user: 'a' }),
  explain: () => store.explain(byUser, { user: 'a' }),
  changes: () => store.changes(),
  scanDamaged: () => store.scanDamaged(),
  status: () => store.status(),
  stats: () => store.stats(),
  trace: () => store.trace(async () => {}),
  indexes: () => store.indexes(),
  getSome: () => store.getMany(['a'], { onUnavailable: 'skip' }),
  countSome: () => store.count(byUser, { user: 'a' }, { onUnavailable: 'skip' }),
  countedPages: () => store.queryMany(byUser, [{ user: 'a' }], { count: true }),
  batch: () => store.batch([{ insert: {} }, { update: 'a', edit: (bag) => bag }, { delete: 'a' }, tasks.writes.delete('b')]),
  metaOf: async () => metaOf((await store.get('a'))!),
  trainDictionary: () => store.trainDictionary(),
}
export const growth = {
  buckets: () => evenBuckets(2),
  shards: () => store.shards,
  list: () => store.shards.list(),
  add: () => store.shards.add('shard-1'),
  plan: () => store.shards.plan('rebalance'),
  move: () => store.shards.move({ from: 0, to: 1, buckets: '0' }),
  drain: () => store.shards.drain(1),
  moves: () => store.shards.moves(),
  repair: () => store.shards.repair(),
}
export const calls = {
  page: () => byStatus.page({ status: 'open' }),
  pageMany: () => byStatus.pageMany([{ status: 'open' }], { count: true }),
  list: () => byStatus.list({ status: 'open' }),
  update: (id: string) => tasks.update(id, { title: 'New' }),
  changes: () => tasks.changes(),
  updateWhere: () => byStatus.updateWhere({ status: 'open' }, { title: 'New' }),
  failed: async () => (await byStatus.deleteWhere({ status: 'open' })).failed,
  upgradeKinds: () => upgradeKinds(store, [Task]),
  getSome: () => tasks.getMany(['a'], { onUnavailable: 'skip' }),
  condition: () => byStatus.condition({ status: 'open' }),
  intersect: () => tasks.intersect([byStatus.condition({ status: 'open' })]),
  writes: () => tasks.writes,
  countNear: () => countNear(store, [Task]),
}
export const work = {
  cleanIndex: () => cleanIndex(store, 'by_user'),
  cleaning: () => cleaning(store, 'by_user'),
  checkIndex: () => checkIndex(store, 'by_user'),
  sweep: () => sweep(store),
  startCleaner: () => startCleaner(store),
  cleanerStatus: () => startCleaner(store).status(),
  readCleanerReport: () => readCleanerReport(store),
  consume: () => consume(store, 'mail', () => {}),
  readConsumers: async () => await readConsumers(store),
  consumerShards: async () => (await readConsumers(store))[0]!.shards,
  readDeadLetters: () => readDeadLetters(store, 'mail'),
  watch: () => watch(store, byUser, { user: 'a' }),
}
`

/** Exports with the inferred types of parts of results. */
const programOfParts = `
import { countNear, DataStore, defineKind, memoryShards, readCleanerReport, startCleaner, typed } from 'looseleaf'

const Task = defineKind('task', { schema: typed<{ title: string }>(), indexes: { byTitle: { by: [{ title: 'string' }], include: ['title'] } } })
const store = await DataStore.open({ shards: memoryShards(2) })
const tasks = Task.in(store)

export const parts = {
  shard: () => store.stats().shards[0],
  status: async () => (await store.status()).shards[0],
  size: async () => (await store.shards.list())[0]?.size,
  planned: async () => (await store.shards.plan('rebalance')).moves,
  move: async () => {
    const [move] = await store.shards.moves()
    return move && ([move.counts, move.seals, move.waits, move.verified, move.commands] as const)
  },
  cost: async () => (await tasks.byTitle.page({ title: 'a' })).cost,
  listed: async () => (await tasks.byTitle.list({ title: 'a' })).items,
  near: async () => (await countNear(store, [Task])).kinds['task']?.indexes,
  index: async () => (await readCleanerReport(store)).indexes[0],
  progress: () => startCleaner(store).status().progress,
}
`

test('types that a program infers from its calls have names in the package looseleaf', () => {
  const packages = [...declarationsOf(program).matchAll(/import\("([^"]+)"\)/g)].map(([, from]) => from)
  expect([...new Set(packages)]).toEqual(['looseleaf'])
}, 60_000)

test('a program with inferred types of parts of results gets declarations', () => {
  expect(declarationsOf(programOfParts)).toContain('near: () => Promise<')
}, 60_000)

/** Compiles a program to declarations. Throws the errors of the compiler. */
function declarationsOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-names-'))
  try {
    // Published types, so the packages have to be built.
    entryOf('looseleaf')
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(root, 'packages/looseleaf'), join(folder, 'node_modules/looseleaf'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(join(folder, 'program.ts'), text)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    })
    if (stdout !== '') throw new Error(stdout)
    return readFileSync(join(folder, 'program.d.ts'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const compilerOptions = {
  target: 'es2024',
  module: 'nodenext',
  strict: true,
  declaration: true,
  emitDeclarationOnly: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}
