import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { checkIndex, readCleanerReport } from '@looseleaf/cleaner'
import { jsonFormat } from '@looseleaf/codec'
import { parseId, type Bag } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runCommand, runInside, startCommand } from './run-command.ts'

const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'

export default defineConfig({
  shards: 'sqlite:data?shards=2',
  indexes: [
    defineIndex('entries_by_user', { properties: { user_id: 'uuid', published: 'time' }, shardOn: 'user_id' }),
    defineIndex('entries_by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' }),
  ],
})
`

const SHARDS = 'sqlite:data?shards=2'
const users = [randomUUID(), randomUUID()] as const

function entry(number: number): Bag & { id: string } {
  const time = Date.UTC(2009, 1, 27, 0, 0, number)
  return {
    id: randomUUID(),
    user_id: users[number % 2],
    title: `Entry ${number}`,
    published: new Date(time),
    tags: [`tag ${number % 3}`, 'all'],
  }
}

function toLines(bags: readonly Bag[]): string {
  return bags.map((bag) => `${Buffer.from(jsonFormat.encode(bag)).toString()}\n`).join('')
}

async function openStore(cwd: string): Promise<DataStore> {
  const store = await DataStore.open({ shards: shardsFrom(SHARDS, { relativeTo: cwd }) })
  onTestFinished(() => store.close())
  return store
}

test('init, put and get work with a config, and query and count with the shards alone', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const init = await runCommand(['init'], { cwd })
  expect(init).toMatchObject({ code: 0, stderr: '' })
  expect(init.stdout).toContain('2 shards, 2 indexes')
  expect(init.stdout).not.toContain('\u001b')

  const bag = { user_id: users[0], title: 'First', published: { $date: '2009-02-27T00:00:00.000Z' } }
  const put = await runInside(['put', JSON.stringify(bag), '--json'], { cwd })
  const { id, version, created } = put.json<{ id: string; version: number; created: boolean }>()
  expect(created).toBe(true)

  const get = await runCommand(['get', id, '--json'], { cwd })
  const entity = { id, version, updated: expect.stringMatching(/^\d{4}-.*Z$/), properties: bag }
  expect(get.json()).toEqual({ entities: [entity], missing: [] })

  // The next commands have no config: the indexes come from the store's catalog.
  const other = {
    cwd: join(cwd, 'node_modules'),
    env: { LOOSELEAF_SHARDS: `sqlite:${join(cwd, 'data')}?shards=2` },
  }
  const where = [`user_id=${users[0]}`, 'published>=2009-02-27', 'published<2009-02-28']
  const query = await runInside(['query', 'entries_by_user', ...where, '--json'], other)
  expect(query.json()).toMatchObject({
    items: [entity],
    cost: { shards: 1, rowsExamined: 1, complete: true },
  })
  const count = await runInside(['count', 'entries_by_user', ...where], other)
  expect(count).toMatchObject({ code: 0, stdout: '1 entity\n' })
})

test('put reads stdin, and takes an id and an expected version', async () => {
  const cwd = projectFolder()
  await runInside(['init', '--shards', SHARDS], { cwd })
  const id = randomUUID()
  const put = (...more: string[]) =>
    runCommand(['put', '--shards', SHARDS, '--id', id, ...more], { cwd, input: '{"n":1}' })
  expect(await put('--if-version', '0')).toMatchObject({ code: 0 })
  const refused = await put('--if-version', '0', '--json')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'VERSION_MISMATCH', entity: id } })
})

test('an export with every type of value is imported exactly', async () => {
  const cwd = projectFolder()
  const bags: Bag[] = [
    { id: randomUUID() },
    {
      id: randomUUID(),
      nothing: null,
      yes: true,
      no: false,
      integer: 7,
      float: -0.1,
      huge: 1e308,
      beyond: 2 ** 60,
      nan: NaN,
      up: Infinity,
      down: -Infinity,
      long: 2n ** 63n,
      low: -(2n ** 63n),
      text: 'a\n"☃"\u0000\u2028 ',
      empty: '',
      at: new Date('2009-02-27T00:00:00.123Z'),
      ancient: new Date(-62_198_755_200_000),
      bytes: new Uint8Array([0, 1, 255]),
      noBytes: new Uint8Array(),
      list: [1, [2n, [new Date(0)]], { $date: 'no date' }, {}],
      nested: { $x: 1, $$y: { 'a b': null } },
      '': 'a property without a name',
    },
    ...Array.from({ length: 50 }, (_, i) => entry(i)),
  ]
  const lines = toLines(bags)
  for (const shards of ['sqlite:first?shards=2', 'sqlite:second']) {
    await runInside(['init', '--shards', shards], { cwd })
  }
  const imported = await runInside(['import', '-', '--shards', 'sqlite:first?shards=2', '--json'], {
    cwd,
    input: lines,
  })
  expect(imported.json()).toEqual({
    lines: 52,
    created: 52,
    replaced: 0,
    refused: 0,
    ended: 'all',
    nextLine: 53,
    remainingLines: null,
    errors: [],
    warnings: [],
  })
  const exported = await runInside(['export', '--shards', 'sqlite:first?shards=2', '--output', 'all.jsonl'], {
    cwd,
  })
  expect(exported.stdout).toBe('Complete: 52 entities exported.\n')
  expect(sortedLines(readFileSync(join(cwd, 'all.jsonl'), 'utf8'))).toEqual(sortedLines(lines))

  expect(await runInside(['import', 'all.jsonl', '--shards', 'sqlite:second'], { cwd })).toMatchObject({
    code: 0,
  })
  const again = await runCommand(['export', '--shards', 'sqlite:second'], { cwd })
  expect(sortedLines(again.stdout)).toEqual(sortedLines(lines))
})

function sortedLines(text: string): string[] {
  return text.split('\n').toSorted()
}

test('an import reports bad lines with their numbers, and stores the others', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  const good = [entry(0), entry(1), entry(2)]
  const [first, second, third] = toLines(good).split('\n')
  const input = [
    first,
    '',
    '{"title":',
    second,
    '{"user_id":"nobody","published":{"$date":"2009-02-27T00:00:00.000Z"}}',
    '{"id":"x"}',
    third,
  ].join('\n')

  const stopped = await runInside(['import', '-', '--json'], { cwd, input })
  expect(stopped.code).toBe(1)
  expect(stopped.json()).toMatchObject({
    lines: 2,
    created: 1,
    refused: 1,
    ended: 'refused',
    nextLine: 3,
    remainingLines: '3-',
  })
  const told = await runInside(['import', '-'], { cwd, input })
  expect(told.stdout).toContain(
    'Stopped at line 3. All lines before it are in the store.\nContinue with --from-line 3\n',
  )

  const skipped = await runInside(['import', '-', '--on-error', 'skip', '--from-line', '4'], { cwd, input })
  expect(skipped.code).toBe(1)
  expect(skipped.stdout).toContain('2 entities imported')
  expect(skipped.stderr).toMatch(/^Line 5: .*property user_id.*\nLine 6: An id has to be a UUID.*\n$/)

  const store = await openStore(cwd)
  expect(await store.getMany(good.map(({ id }) => id))).toEqual(good)
})

test('the later of two lines with the same id wins, however close they are', async () => {
  const cwd = projectFolder()
  await runInside(['init', '--shards', SHARDS], { cwd })
  const id = randomUUID()
  const bags = Array.from({ length: 40 }, (_, n) => ({ id: n % 2 === 0 ? id : id.toUpperCase(), n }))
  const imported = await runInside(['import', '-', '--shards', SHARDS, '--json'], {
    cwd,
    input: toLines(bags),
  })
  expect(imported.json()).toMatchObject({ created: 1, replaced: 39 })
  const store = await openStore(cwd)
  expect(await store.get(id)).toEqual({ id, n: 39 })
})

test('an index is added, filled by clean, checked, and dropped', async () => {
  const cwd = projectFolder()
  await runInside(['init', '--shards', SHARDS], { cwd })
  await runInside(['import', '-', '--shards', SHARDS], {
    cwd,
    input: toLines(Array.from({ length: 30 }, (_, i) => entry(i))),
  })
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)

  const added = await runInside(['index', 'add', 'entries_by_tag', '--json'], { cwd })
  expect(added.json()).toMatchObject({
    indexes: [{ name: 'entries_by_tag', generation: 1, state: 'building' }],
  })
  const query = ['query', 'entries_by_tag', 'tags=tag 1', '--scatter', '--json']
  expect(await runInside(query, { cwd })).toMatchObject({ code: 4 })

  const cleaned = await runInside(['clean', '--index', 'entries_by_tag', '--json'], { cwd })
  expect(cleaned).toMatchObject({ code: 0 })
  expect(cleaned.json()).toMatchObject({
    indexes: [{ index: 'entries_by_tag', state: 'ready', added: 120 - 60 }],
  })
  expect((await runInside(query, { cwd })).json<{ items: unknown[] }>().items).toHaveLength(10)
  const both = [...query, '--and', 'entries_by_tag', 'tags=all', 'entries_by_tag', 'tags=tag 1']
  const found = (await runInside(both, { cwd })).json<{ items: unknown[]; cost: object }>()
  expect(found.items).toHaveLength(10)
  expect(found.cost).toMatchObject({ rowsExamined: 10, complete: true })
  const none = await runInside([...query, '--and', 'entries_by_tag', 'tags=tag 2'], { cwd })
  expect(none.json()).toMatchObject({ items: [] })
  const shown = await runInside(
    both.filter((word) => word !== '--json'),
    { cwd },
  )
  expect(shown.stdout).toContain('10 entities; 10 index rows examined')

  const store = await openStore(cwd)
  const table = store.context.driver.shards[0]?.index({
    table: 'index_entries_by_tag',
    columns: [{ name: 'tags', type: 'string' }],
  })
  const [row] = (await table?.scan({ prefix: [], order: 'asc', limit: 1 })) ?? []
  if (row === undefined) throw new Error('shard 0 has no row')
  await table?.remove([{ ...row, before: Number.MAX_SAFE_INTEGER }])
  const bad = await runInside(['clean', '--check'], { cwd })
  expect(bad.code).toBe(1)
  expect(bad.stdout).toContain('Repair with: looseleaf clean --index entries_by_tag')
  const repaired = await runInside(['clean', '--json'], { cwd })
  expect(repaired.json()).toMatchObject({ added: 1, removed: 0 })
  const good = await runInside(['clean', '--check', '--json'], { cwd })
  expect(good.code).toBe(0)
  expect(good.json()).toMatchObject({ ok: true, indexes: [{ missing: 0, dangling: 0 }] })

  const drop = ['index', 'drop', 'entries_by_tag', '--now', '--yes']
  expect(await runInside(drop, { cwd })).toMatchObject({ code: 0 })
  expect((await runInside(['index', 'list', '--json'], { cwd })).json()).toEqual({ indexes: [], advice: [] })
  expect(await runInside(drop, { cwd })).toMatchObject({ code: 2 })
})

test('clean --check counts rows that match no entity, and does not fail', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG.replace('shards:', 'queryTimeMs: 10, shards:'))
  await runInside(['init'], { cwd })
  await runInside(['import', '-'], { cwd, input: toLines([entry(0)]) })
  const store = await openStore(cwd)
  const tables = store.context.driver.shards.map((shard) =>
    shard.index({ table: 'index_entries_by_tag', columns: [{ name: 'tags', type: 'string' }] }),
  )
  const pages = await Promise.all(tables.map((table) => table.scan({ prefix: [], order: 'asc', limit: 9 })))
  const shard = pages.findIndex((page) => page.length > 0)
  const row = pages[shard]?.[0]
  if (row === undefined) throw new Error('no shard has a row')
  await tables[shard]?.upsert([{ ...row, entityId: parseId(randomUUID()) }])
  const checked = await runInside(['clean', '--check', '--json'], { cwd })
  expect(checked.code).toBe(0)
  expect(checked.json()).toMatchObject({
    ok: true,
    indexes: expect.arrayContaining([expect.objectContaining({ missing: 0, dangling: 1 })]),
  })
  const text = await runInside(['clean', '--check'], { cwd })
  expect(text.stdout).toContain('1 row matches no entity')
  expect(text.stdout).toContain('Every index is correct.')
})

test.each([
  { signal: 'SIGINT', code: 130, words: 'the same command continues from here' },
  { signal: 'SIGKILL', code: null, words: '' },
] as const)('a clean that $signal ends continues from there', async ({ signal, code, words }) => {
  const cwd = projectFolder()
  await runInside(['init', '--shards', SHARDS], { cwd })
  await runInside(['import', '-', '--shards', SHARDS], {
    cwd,
    input: toLines(Array.from({ length: 900 }, (_, i) => entry(i))),
  })
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['index', 'add', 'entries_by_tag'], { cwd })
  const store = await openStore(cwd)
  const doneSoFar = async (): Promise<number> => {
    const { indexes } = await readCleanerReport(store)
    return Math.max(0, ...(indexes[0]?.inProgress?.shards.map((shard) => shard.done) ?? []))
  }

  // Slow enough that the clean is far from its end when its first progress is read.
  const { child, finished } = startCommand(['clean', '--rows-per-second', '90', '--lease', '1'], { cwd })
  while ((await doneSoFar()) === 0 && child.exitCode === null) await delay(20)
  child.kill(signal)
  const ended = await finished
  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toContain(words)
  expect(await doneSoFar()).toBeGreaterThan(0)
  expect((await store.indexes())[0]).toMatchObject({ state: 'building' })

  const again = await runCommand(['clean', '--json'], { cwd })
  expect(again.code).toBe(0)
  expect(again.json()).toMatchObject({ indexes: [{ index: 'entries_by_tag', state: 'ready' }] })
  expect(await checkIndex(store, 'entries_by_tag')).toMatchObject({
    entities: 900,
    rows: 1800,
    missing: 0,
    dangling: 0,
  })
})

test('status --json has the documented shape', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  await runInside(['import', '-'], { cwd, input: toLines([entry(0), entry(1), entry(2)]) })
  await runInside(['clean', '--index', 'entries_by_user'], { cwd })
  const status = await runInside(['status', '--json'], { cwd })
  const tally = {
    entities: expect.any(Number),
    rows: expect.any(Number),
    added: 0,
    removed: 0,
    fenced: 0,
    postponed: 0,
    misplaced: 0,
    misfits: 0,
    duplicates: 0,
    undecodable: 0,
  }
  const shard = {
    name: expect.stringContaining('shard-'),
    epoch: 1,
    entities: expect.any(Number),
    tombstones: 0,
    bytes: expect.any(Number),
    bytesPerDay: null,
    oldestTombstone: null,
    warnings: [],
    error: null,
  }
  const index = { generation: 1, state: 'ready', inProgress: null }
  const followed = {
    name: shard.name,
    isFollowed: false,
    worker: null,
    lastRoundAt: null,
    lagMs: null,
    isFallingBehind: false,
    pending: null,
  }
  const unfollowed = {
    grade: 'look',
    rule: 'no cleaner',
    about: expect.stringContaining('shard-'),
    problem: expect.any(String),
    instruction: expect.any(String),
    see: 'The cleaner',
  }
  expect(status.json()).toEqual({
    grade: expect.stringMatching(/^(well|look|act)$/),
    storeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    policies: { deleteDelayMs: 0, onIndexFailure: 'fail', keepTombstonesMs: 604_800_000 },
    shards: [shard, shard],
    indexes: [
      {
        ...index,
        name: 'entries_by_user',
        table: 'index_entries_by_user',
        columns: 'user_id uuid, published time',
        shardOn: 'user_id',
        lastCleaned: { ...tally, missing: 0, finishedAt: expect.any(String) },
        misfits: { count: 0, countedAt: expect.any(String) },
      },
      {
        ...index,
        name: 'entries_by_tag',
        table: 'index_entries_by_tag',
        columns: 'tags string[]',
        shardOn: 'id',
        exact: 'on',
        lastCleaned: null,
        misfits: null,
      },
    ],
    cleaner: {
      updatedAt: null,
      lastFoundAt: null,
      lastUndecodableAt: null,
      totals: tally,
      lastError: null,
      sweepEveryMs: null,
      shards: [followed, followed],
    },
    replicas: [],
    consumers: [],
    moves: [],
    near: [],
    failures: [],
    findings: [unfollowed, unfollowed],
  })
  const { shards } = status.json<{ shards: { entities: number }[] }>()
  expect(shards.reduce((sum, { entities }) => sum + entities, 0)).toBe(3)
  expect((await runInside(['status'], { cwd })).stdout).toContain('entries_by_tag   never')
})

test('schema prints the statements that create all tables', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  expect((await runInside(['init'], { cwd })).code).toBe(0)
  const printed = await runInside(['schema', '--json'], { cwd })
  const { shards } = printed.json<{ shards: { name: string; statements: string[] }[] }>()
  expect(shards).toHaveLength(2)
  for (const { statements } of shards) {
    const tables = statements.flatMap((sql) => /^CREATE TABLE IF NOT EXISTS "(\w+)"/.exec(sql)?.[1] ?? [])
    expect(tables.toSorted()).toEqual([
      'entities',
      'index_entries_by_tag',
      'index_entries_by_user',
      'looseleaf_codec',
      'looseleaf_meta',
      'looseleaf_pending',
      'looseleaf_tasks',
    ])
  }
  const text = (await runInside(['schema'], { cwd })).stdout
  expect(text).toMatch(/^-- On .*shard-0.sqlite, .*shard-1.sqlite\nCREATE TABLE/)
})

test('superfluous index rows stay for deleteDelayMs of the config, and without it until the next clean', async () => {
  const count = async (deleteDelayMs: number | undefined): Promise<number> => {
    const cwd = projectFolder()
    const given = deleteDelayMs === undefined ? '' : `deleteDelayMs: ${deleteDelayMs}, shards:`
    const config = given === '' ? CONFIG : CONFIG.replace('shards:', given)
    writeFileSync(join(cwd, 'looseleaf.config.mjs'), config)
    expect((await runInside(['init'], { cwd })).code).toBe(0)
    // Rows of an exact index go with the commit.
    expect((await runInside(['index', 'exact', 'off'], { cwd })).code).toBe(0)
    const put = async (tag: string): Promise<void> => {
      const bag = JSON.stringify({ id: users[0], tags: [tag] })
      expect((await runInside(['put', bag], { cwd })).code).toBe(0)
    }
    await put('before')
    await put('after')
    expect((await runInside(['clean'], { cwd })).code).toBe(0)
    const counted = await runInside(
      ['count', 'entries_by_tag', 'tags=before', '--rows', '--scatter', '--json'],
      {
        cwd,
      },
    )
    return counted.json<{ count: number }>().count
  }
  expect(await count(300_000)).toBe(1)
  expect(await count(undefined)).toBe(0)
})
