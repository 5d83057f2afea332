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
  bucketRouter, checkIndex, cleanIndex, consume, DataStore, defineIndex, defineKey, defineKind, indexesOf, memoryShards,
  mysqlShards, readCleanerReport, readConsumers, readDeadLetters, startCleaner, sweep, typed, upgradeKinds, watch,
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
}
export const work = {
  cleanIndex: () => cleanIndex(store, 'by_user'),
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

test('types that a program infers from its calls have names in the package looseleaf', () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-names-'))
  try {
    // Published types, so the packages have to be built.
    entryOf('looseleaf')
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(root, 'packages/looseleaf'), join(folder, 'node_modules/looseleaf'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(join(folder, 'program.ts'), program)
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'es2024',
          module: 'nodenext',
          strict: true,
          declaration: true,
          emitDeclarationOnly: true,
          skipLibCheck: true,
          types: ['node'],
          typeRoots: [join(root, 'node_modules/@types')],
        },
        files: ['program.ts'],
      }),
    )
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    })
    expect(stdout).toBe('')
    const declared = readFileSync(join(folder, 'program.d.ts'), 'utf8')
    const packages = [...declared.matchAll(/import\("([^"]+)"\)/g)].map(([, from]) => from)
    expect([...new Set(packages)]).toEqual(['looseleaf'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 60_000)
