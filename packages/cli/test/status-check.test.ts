import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readCleanerReport } from '@looseleaf/cleaner'
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside, type Finished } from './run-command.ts'

const CONFIG = `
import { defineIndex } from '@looseleaf/index-engine'

export default {
  shards: 'sqlite:data?shards=2',
  indexes: [defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user', onMisfit: 'skip' })],
}
`

interface Checked {
  readonly ok: boolean
  readonly grade: string
  readonly findings: readonly { readonly rule: string; readonly about: string | null; readonly see: string }[]
}

async function project(): Promise<string> {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  return cwd
}

async function openStore(cwd: string): Promise<DataStore> {
  const shards = shardsFrom('sqlite:data?shards=2', { relativeTo: cwd, create: false })
  const store = await DataStore.open({ shards })
  onTestFinished(() => store.close())
  return store
}

/** Tells whether a cleaner has followed all shards, swept all indexes and saved its report. */
async function isCleaned(store: DataStore): Promise<boolean> {
  const { updatedAt, indexes, shards } = await readCleanerReport(store)
  return (
    updatedAt !== undefined &&
    indexes.every(({ lastRun }) => lastRun !== undefined) &&
    shards.every(({ lastRoundAt }) => lastRoundAt !== undefined)
  )
}

test('status shows replicas with their problems', async () => {
  const cwd = projectFolder()
  const config = `
import { sqliteShards } from '@looseleaf/driver-sqlite'

const sqlite = sqliteShards({ folder: '${join(cwd, 'data')}' })
const shards = {
  ...sqlite,
  async connect(options) {
    const driver = await sqlite.connect(options)
    const [shard] = driver.shards
    const lost = { ...shard, name: 'lost', catalog: { load: async () => { throw new Error('It has no tables.') } } }
    return { ...driver, shards: [{ ...shard, replicas: [{ ...shard, name: 'copy' }, lost] }] }
  },
}
export default { shards }
`
  writeFileSync(join(cwd, 'looseleaf.config.ts'), config)
  await runInside(['init'], { cwd })
  const shown = await runInside(['status', '--json'], { cwd })
  const name = shown.json<{ shards: [{ name: string }] }>().shards[0].name
  expect(shown.json()).toMatchObject({
    replicas: [
      { name: 'copy', primary: name, behindMs: 0, exclusionReason: null },
      { name: 'lost', primary: name, behindMs: null, exclusionReason: 'It has no tables.' },
    ],
    findings: [{ rule: 'replica', about: 'replica lost', see: 'Reading from replicas' }],
  })
  const { stdout } = await runInside(['status'], { cwd })
  expect(stdout).toMatch(/REPLICA\s+OF\s+BEHIND/)
  expect(stdout).toMatch(/copy\s.*\s0 s/)
  const checked = await runInside(['status', '--check', '--json'], { cwd })
  expect(checked.json<Checked>().findings.map(({ rule }) => rule)).toEqual(['replica'])
  expect(checked.code).toBe(1)
})

test('status --check finds a store without a cleaner, and finds nothing in a cleaned store', async () => {
  const cwd = await project()
  const found = await runInside(['status', '--check', '--json'], { cwd })
  expect(found.code).toBe(1)
  const { ok, grade, findings } = found.json<Checked>()
  expect({ ok, grade }).toEqual({ ok: false, grade: 'look' })
  expect(findings.map(({ rule }) => rule)).toEqual(['no cleaner', 'no cleaner'])
  const text = await runInside(['status', '--check'], { cwd })
  expect(text.code).toBe(1)
  const [opinion, ...lines] = text.stdout.trimEnd().split('\n')
  expect(opinion).toMatch(/^Look: reads and writes work as promised/)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toMatch(/^look: no cleaner: .*To do: run startCleaner/)
  // The finding has grade look, so the pager stays silent.
  const urgent = await runInside(['status', '--check', 'act', '--json'], { cwd })
  expect(urgent.code).toBe(0)
  expect(urgent.json()).toEqual({ ok: true, grade: 'look', findings: [] })

  const store = await openStore(cwd)
  const cleaner = startTunedCleaner(store, { intervalMs: 10, catalogMs: 10, leaseMs: 300 })
  onTestFinished(() => cleaner.stop())
  while (!(await isCleaned(store))) await delay(10)
  const last = await runInside(['status', '--check', '--json'], { cwd })
  expect(last.code).toBe(0)
  expect(last.json()).toEqual({ ok: true, grade: 'well', findings: [] })
  expect((await runInside(['status', '--check'], { cwd })).stdout).toBe('All is well.\n')
  let shown = await runInside(['status'], { cwd })
  // A busy machine may stall this process for longer than the lease. The cleaner then takes its shards again.
  while (!shown.stdout.includes(`:${process.pid}`)) shown = await runInside(['status'], { cwd })
  expect(shown.stdout).toMatch(/^All is well\.\n/)
  expect(shown.stdout).toMatch(
    /All indexes were swept since .*: 0 missing, 0 dangling, 0 duplicates, 0 damaged\./,
  )
})

test('status --check finds no missing cleaner while a new cleaner has not saved its first rounds', async () => {
  const cwd = await project()
  const store = await openStore(cwd)
  // Rounds are saved three times per lease, so none is saved during this test.
  const cleaner = startTunedCleaner(store, { intervalMs: 10, catalogMs: 10, leaseMs: 300_000 })
  onTestFinished(() => cleaner.stop())
  while ((await readCleanerReport(store)).updatedAt === undefined) await delay(10)
  const checked = await runInside(['status', '--check', '--json'], { cwd })
  expect(checked.json<Checked>().findings.map(({ rule }) => rule)).not.toContain('no cleaner')
  const { shards } = await readCleanerReport(store)
  expect(shards.map(({ lastRoundAt }) => lastRoundAt)).toEqual([undefined, undefined])
})

test('status --check finds indexes of the config that the store lacks or defines differently', async () => {
  const cwd = await project()
  const newer = CONFIG.replace(
    "onMisfit: 'skip' })",
    "onMisfit: 'skip', include: ['name'] }), defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail' })",
  )
  writeFileSync(join(cwd, 'newer.config.ts'), newer)
  const checkOf = async (config: string): Promise<string[]> => {
    const { stdout } = await runInside(['status', '--check', '--config', config], { cwd })
    return stdout.split('\n').filter((line) => line.includes('index not added'))
  }
  expect(await checkOf('looseleaf.config.ts')).toEqual([])
  expect(await checkOf('newer.config.ts')).toEqual([
    'look: index not added: index by_user: differs between the store and the config: include: nothing → name. To do: update the config of this check if it is outdated, or run: looseleaf index add by_user --fill. (operations.md, "Indexes on a live site")',
    'look: index not added: index by_mail: is in the config and not in the store. To do: looseleaf index add by_mail --fill. (operations.md, "Indexes on a live site")',
  ])
  const run = (...args: string[]): Promise<Finished> =>
    runInside([...args, '--config', 'newer.config.ts'], { cwd })
  expect((await run('status')).stdout).toContain('index not added: index by_mail')
  expect((await run('index', 'add', 'by_mail', 'by_user', '--fill')).code).toBe(0)
  expect(await checkOf('newer.config.ts')).toEqual([])
  // The generation of the older config stays in the store.
  expect(await checkOf('looseleaf.config.ts')).toEqual([])
  await run('index', 'drop', 'by_mail', '--yes')
  expect(await checkOf('newer.config.ts')).toEqual([])
})

test('status shows the misfits of each index', async () => {
  const cwd = await project()
  await runInside(['import', '-'], { cwd, input: '{"user":"ada"}\n{"user":7}\n{"user":true}\n' })
  await runInside(['clean'], { cwd })
  const { indexes } = (await runInside(['status', '--json'], { cwd })).json<{
    indexes: readonly { misfits: { count: number; countedAt: string } | null }[]
  }>()
  expect(indexes[0]!.misfits!.count).toBe(2)
  expect(Date.now() - Date.parse(indexes[0]!.misfits!.countedAt)).toBeLessThan(60_000)
  expect((await runInside(['status'], { cwd })).stdout).toMatch(/MISFITS/)
})

test('unreachable shards are findings, with the exit code of their error', async () => {
  const cwd = projectFolder()
  const away = ['--shards', 'mysql://127.0.0.1:9/none']
  const checked = await runInside(['status', '--check', '--json', ...away], { cwd })
  expect(checked.code).toBe(3)
  expect(checked.json<Checked>().findings.map(({ rule }) => rule)).toEqual(['shard'])
})

test.each([0, 1])(
  'shard %i with a missing table is a finding, and hides no other part of status',
  async (lost) => {
    const cwd = await project()
    await runInside(['put', '{"user":"ada"}'], { cwd })
    const driver = await shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }).connect()
    await driver.shards[lost]!.dropIndexTable({ table: 'looseleaf_tasks', columns: [] })
    await driver.close()
    const checked = await runInside(['status', '--check', '--json'], { cwd })
    const [{ rule, about, problem }] = checked.json<{ findings: [Record<string, string>] }>().findings
    expect([checked.code, rule, about]).toEqual([
      4,
      'shard',
      expect.stringMatching(`^shard .*shard-${lost}\\.sqlite$`),
    ])

    const shown = await runInside(['status'], { cwd })
    expect(shown.code).toBe(4)
    expect(shown.stdout).toContain(`shard: ${about}: ${problem}`)
    expect(shown.stdout).toMatch(/shard-0\.sqlite .*\n\S*shard-1\.sqlite /m)
    expect(shown.stdout).toContain('index_by_user')
    const { cleaner, findings } = (await runInside(['status', '--json'], { cwd })).json<{
      cleaner: unknown
      findings: readonly Checked['findings'][number][]
    }>()
    // The report of the cleaners is stored on the first shard.
    if (lost === 0) expect(cleaner).toBeNull()
    else expect(cleaner).toMatchObject({ shards: [{}, {}] })
    expect(findings.filter((finding) => finding.rule === 'shard')).toHaveLength(1)
  },
)

test('a store whose catalog cannot be read is a finding', async () => {
  const cwd = projectFolder()
  mkdirSync(join(cwd, 'other'))
  writeFileSync(join(cwd, 'other', 'shard-0.sqlite'), '')
  const checked = await runInside(['status', '--check', '--json', '--shards', 'sqlite:other?shards=1'], {
    cwd,
  })
  expect(checked.code).toBe(4)
  expect(checked.json<Checked>().findings).toMatchObject([{ rule: 'catalog', about: null }])
})

test('a mistake in the command line is not a finding', async () => {
  const checked = await runInside(['status', '--check', '--json'], { cwd: projectFolder() })
  expect(checked).toMatchObject({ code: 2, stdout: '' })
})
