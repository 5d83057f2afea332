import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { entryOf } from './module-graph.ts'
import { root, workspacePackages } from './repository.ts'

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
import {
  cleanIndex, countNear, DataStore, defineKind, memoryShards, readCleanerReport, startCleaner, typed,
  type SlowCall, type Trace,
} from 'looseleaf'

const Task = defineKind('task', { schema: typed<{ title: string }>(), indexes: { byTitle: { by: [{ title: 'string' }], include: ['title'] } } })
const store = await DataStore.open({ shards: memoryShards(2) })
const tasks = Task.in(store)

export const stats = {
  failure: () => store.stats().failures[0],
  shard: () => store.stats().shards[0]!,
  lane: () => store.stats().shards[0]!.lanes[0],
  replica: () => store.stats().shards[0]!.replicas[0],
  connections: () => store.stats().shards[0]!.connections,
  removals: () => store.stats().removals,
  cache: () => store.stats().cache,
  followed: () => store.stats().cache?.followed,
}
export const states = {
  status: async () => (await store.status()).shards[0],
  policies: async () => (await store.status()).policies,
  index: async () => {
    const [index] = await store.indexes()
    return index && ([index.state, index.exact, index.on] as const)
  },
}
export const traces = {
  calls: (trace: Trace) => trace.calls[0],
  statements: (trace: Trace) => trace.statements[0],
  slow: (call: SlowCall) => call.statements[0],
}
export const moves = {
  size: async () => (await store.shards.list())[0]?.size,
  planned: async () => (await store.shards.plan('rebalance')).moves,
  move: async () => {
    const [move] = await store.shards.moves()
    return move && ([move.counts, move.seals, move.waits, move.verified, move.commands] as const)
  },
}
export const pages = {
  cost: async () => (await tasks.byTitle.page({ title: 'a' })).cost,
  listed: async () => (await tasks.byTitle.list({ title: 'a' })).items,
  listCost: async () => (await tasks.byTitle.list({ title: 'a' })).cost,
}
export const work = {
  near: async () => (await countNear(store, [Task])).kinds['task']?.indexes,
  index: async () => (await readCleanerReport(store)).indexes[0]!,
  lastRun: async () => (await readCleanerReport(store)).indexes[0]!.lastRun,
  run: async () => (await readCleanerReport(store)).indexes[0]!.inProgress!,
  part: async () => (await readCleanerReport(store)).indexes[0]!.inProgress!.shards[0],
  shard: async () => (await readCleanerReport(store)).shards[0]!,
  pending: async () => (await readCleanerReport(store)).shards[0]!.pending,
  error: async () => (await readCleanerReport(store)).lastError,
  cleaned: async () => (await cleanIndex(store, 'by_title')).indexes[0],
  progress: () => startCleaner(store).status().progress,
}
`

/** A module of a program that installs packages one by one. */
const programOfPackages = `
import { DataStore, defineIndex, metaOf, type DataStoreOptions } from '@looseleaf/store'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineKind, typed } from '@looseleaf/kinds'

export const shards = memoryShards(2)
export const connected = () => shards.connect()
export const shard = async () => (await shards.connect()).shards[0]
export const parts = ({ codec, router }: DataStoreOptions) => [codec!, router!] as const
export const byUser = defineIndex('by_user', { properties: { user: 'uuid' }, shardOn: 'user' })
export const Task = defineKind('task', { schema: typed<{ title: string }>(), indexes: { byTitle: { by: [{ title: 'string' }] } } })
export const store = await DataStore.open({ shards })
export const tasks = Task.in(store)
export const meta = async () => metaOf((await store.get('a'))!)
export const intersect = () => store.intersect([{ index: byUser, where: { user: 'a' } }])
export const page = () => tasks.byTitle.page({ title: 'a' })
export const cost = async () => (await page()).cost
`

test('types that a program infers from its calls have names in the package looseleaf', () => {
  expect(packagesIn(declarationsOf(program, ['looseleaf']))).toEqual(['looseleaf'])
}, 60_000)

test('a program with inferred types of parts of results gets declarations', () => {
  const declarations = declarationsOf(programOfParts, ['looseleaf'])
  expect(declarations).toContain('near: () => Promise<')
  expect(packagesIn(declarations)).toEqual(['looseleaf'])
}, 60_000)

test('types that a program infers have names in the packages that it installs one by one', () => {
  const installed = ['@looseleaf/store', '@looseleaf/driver-sqlite', '@looseleaf/kinds']
  expect(installed).toEqual(expect.arrayContaining(packagesIn(declarationsOf(programOfPackages, installed))))
}, 60_000)

function packagesIn(declarations: string): string[] {
  return [...new Set([...declarations.matchAll(/import\("([^"]+)"\)/g)].map(([, from]) => from!))]
}

/** Compiles a program to declarations with some packages installed. Throws the errors of the compiler. */
function declarationsOf(text: string, installed: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-names-'))
  try {
    install(folder, installed)
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

/**
 * Copies the published types as pnpm installs them: a package finds its own dependencies alone. TypeScript takes links into the repository
 * for modules of the program, and then names entries that no program can import.
 */
function install(folder: string, installed: readonly string[]): void {
  const packages = workspacePackages('packages')
  const placeOf = (name: string): string =>
    join(folder, 'node_modules/.pnpm', name.replace('/', '+'), 'node_modules')
  const names = new Set(packages.map(({ manifest }) => manifest.name))
  const link = (target: string, place: string): void => {
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(target, place)
  }
  // The packages have to be built.
  for (const name of installed) entryOf(name)
  for (const { folder: from, manifest } of packages) {
    const place = placeOf(manifest.name)
    const isType = (path: string): boolean => statSync(path).isDirectory() || path.endsWith('.d.ts')
    cpSync(join(root, from, 'dist'), join(place, manifest.name, 'dist'), { recursive: true, filter: isType })
    cpSync(join(root, from, 'package.json'), join(place, manifest.name, 'package.json'))
    for (const name of Object.keys(manifest.dependencies ?? {}))
      link(
        names.has(name) ? join(placeOf(name), name) : realpathSync(join(root, from, 'node_modules', name)),
        join(place, name),
      )
  }
  for (const name of installed) link(join(placeOf(name), name), join(folder, 'node_modules', name))
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
