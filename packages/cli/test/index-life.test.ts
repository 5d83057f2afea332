import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside, type Finished, type RunOptions } from './run-command.ts'

// All commands of an index, from a dry run of `add` to its drop.

const SHARDS = 'sqlite:data?shards=2'
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byNameAndAge = defineIndex('by_name', {
  properties: { name: 'string', age: 'integer' },
  shardOn: 'name',
})

const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'

export default defineConfig({
  shards: '${SHARDS}',
  indexes: [
    defineIndex('by_name', { properties: { name: 'string', age: 'integer' }, shardOn: 'name' }),
    defineIndex('by_age', { properties: { age: 'integer' }, shardOn: 'age', unique: true }),
  ],
})
`

let cwd: string
let store: DataStore
beforeEach(async () => {
  cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const shards = shardsFrom(SHARDS, { relativeTo: cwd, create: true })
  store = await DataStore.open({ shards, indexes: [byName], migrate: true, queryTimeMs: 10 })
  onTestFinished(() => store.close())
  for (let i = 0; i < 6; i++) await store.put({ name: `name ${i % 3}`, age: i })
})

const run = (text: string, options: RunOptions = {}): Promise<Finished> =>
  runInside(text.split(' '), { cwd, ...options })
const states = async (): Promise<string[]> =>
  (await store.indexes()).map(({ table, state, hidden, paused }) =>
    [table, state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(' '),
  )

test('index add --dry-run prints the effect and the SQL, and changes nothing', async () => {
  const before = store.context.catalog.current().epochs
  const planned = await run('index add by_name by_age --dry-run')
  expect(planned.code).toBe(0)
  expect(planned.stdout).toContain('Index by_name would get a new generation, 2, beside the current one:')
  expect(planned.stdout).toContain('  properties: name string → name string, age integer')
  expect(planned.stdout).toContain('Index by_age would be new, generation 1.')
  for (const table of ['index_by_name_2', 'index_by_age', 'claims_by_age'])
    expect(planned.stdout).toContain(`CREATE TABLE IF NOT EXISTS "${table}"`)
  expect(planned.stdout).not.toContain('"entities"')
  expect(planned.stdout).toContain('A filling would read about 6 entities, once for all')
  expect((await store.context.catalog.reload()).epochs).toEqual(before)

  const { indexes, entities } = (await run('index add by_name --dry-run --json')).json<{
    indexes: { action: string; tables: { table: string }[] }[]
    entities: number
  }>()
  expect(indexes).toMatchObject([
    { action: 'generation', generation: 2, tables: [{ table: 'index_by_name_2' }] },
  ])
  expect(entities).toBe(6)
})

test('index add --dry-run recognizes an index that exists, is hidden, has another onMisfit, or is not unique yet', async () => {
  const action = async (name: string): Promise<string | undefined> =>
    (await run(`index add ${name} --dry-run --json`)).json<{ indexes: { action: string }[] }>().indexes[0]
      ?.action
  await store.addIndex(byNameAndAge)
  expect(await action('by_name')).toBe('nothing')
  expect((await run('index add by_name --dry-run')).stdout).toContain('There would be nothing to fill.')
  await store.hideIndex('by_name')
  expect(await action('by_name')).toBe('restore')
  await store.addIndex({ ...byNameAndAge, onMisfit: 'skip' })
  expect(await action('by_name')).toBe('misfits')
  await store.addIndex(defineIndex('by_age', { properties: { age: 'integer' }, shardOn: 'age' }))
  expect(await action('by_age')).toBe('claims')
})

test('index add --fill adds and fills several indexes', async () => {
  const added = await run('index add by_name by_age --fill')
  expect([added.code, added.stderr]).toEqual([0, ''])
  expect(added.stdout).toMatch(/by_name +ready +6/)
  expect(added.stdout).toMatch(/by_age \(unique\) +ready/)
  expect(await states()).toEqual([
    'index_by_name ready',
    'index_by_name_2 ready',
    'index_by_age ready',
    'claims_by_age ready',
  ])
  const again = await run('index add by_name by_age --fill --json')
  expect(again.json()).toMatchObject({
    indexes: [
      { name: 'by_name', generation: 2, state: 'ready' },
      { name: 'by_age', claims: 'ready' },
    ],
    filled: { added: 0 },
  })
})

test('index add reports the generation of the config, whatever other generations exist', async () => {
  await store.addIndex(byNameAndAge)
  const on = withConfig('old', "defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })")
  expect((await on('index add by_name')).stdout).toBe('Index by_name is ready.\n')
})

test('a filling is paused and resumed, and list, show and status report it', async () => {
  await run('index add by_name')
  const paused = await run('index pause by_name')
  expect(paused.stdout).toBe(
    'Index by_name, generation 2, is paused. Continue with: looseleaf index resume by_name\n',
  )
  for (const command of ['index list', 'index show by_name', 'status']) {
    const { stdout } = await run(command)
    expect(stdout).toContain('building, paused')
    expect(stdout).toContain('looseleaf index resume by_name --generation 2')
  }
  const filled = await run('index add by_name --fill')
  expect([filled.code, filled.stdout]).toEqual([1, expect.stringContaining('by_name is not filled now')])
  expect((await run('index resume by_name --json')).json()).toEqual({ generations: [2], paused: false })
  expect((await run('clean')).code).toBe(0)
  expect(await states()).toEqual(['index_by_name ready', 'index_by_name_2 ready'])
  const late = await run('index pause by_name')
  expect([late.code, late.stderr]).toEqual([2, expect.stringContaining('no filling to pause')])
})

test('the first drop hides an index, restore brings it back at once, and a second drop drops it', async () => {
  const refused = await run('index drop by_name')
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('give --yes')])
  expect(await states()).toEqual(['index_by_name ready'])
  expect((await run('index drop by_name --dry-run --json')).json()).toEqual({
    step: 'hide',
    indexes: [{ name: 'by_name', generations: [1] }],
    done: false,
  })

  const hidden = await run('index drop by_name --yes')
  expect(hidden.stdout).toContain('Index by_name, generation 1, is hidden.')
  expect(hidden.stdout).toContain('looseleaf index restore by_name')
  expect(await states()).toEqual(['index_by_name ready hidden'])
  const queried = await run('count by_name --scatter')
  expect([queried.code, queried.stderr]).toEqual([
    4,
    expect.stringContaining('looseleaf index restore by_name'),
  ])
  expect((await run('index list')).stdout).toContain('is hidden. Bring it back with')

  const back = await run('index restore by_name')
  expect(back.stdout).toBe('Index by_name, generation 1, is restored: ready.\n')
  expect((await run('count by_name --scatter --json')).json()).toMatchObject({ count: 6 })
  expect((await run('index restore by_name')).stdout).toBe('Index by_name is not hidden.\n')

  await run('index drop by_name --yes')
  const dropped = await run('index drop by_name --yes --json')
  expect(dropped.json()).toEqual({
    step: 'drop',
    indexes: [{ name: 'by_name', generations: [1] }],
    done: true,
  })
  expect(await states()).toEqual([])
  const gone = await run('index restore by_name')
  expect([gone.code, gone.stderr]).toEqual([2, 'Error: The store has no index "by_name"; it has none.\n'])
})

test('drop and restore take several indexes, and drop asks once and drops none while one is not hidden', async () => {
  await run('index add by_age --fill')
  await store.hideIndex('by_age')
  const planned = await run('index drop by_name by_age by_name --dry-run')
  expect(planned.stdout).toContain('This would hide index by_name, generation 1.')
  await run('index restore by_age')

  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  stdin.end('y\n')
  const hidden = await run('index drop by_name by_age', { stdin })
  expect(hidden.stderr).toContain('Hide index by_name, generation 1, and index by_age, generation 1? ')
  expect(hidden.stderr.split('[y/N]')).toHaveLength(2)
  expect(hidden.stdout).toBe(
    [
      'Index by_name, generation 1, and index by_age, generation 1, are hidden. Queries of them are refused; writers keep them up to date, so `looseleaf index restore by_name by_age` brings them back at once.',
      'Once no process needs them, drop them with: looseleaf index drop by_name by_age',
      '',
    ].join('\n'),
  )
  const hiddenStates = ['index_by_name ready hidden', 'index_by_age ready hidden']
  expect(await states()).toEqual(expect.arrayContaining(hiddenStates))

  const back = await run('index restore by_name by_age --json')
  expect(back.json()).toEqual({
    indexes: [
      { name: 'by_name', restored: [1], state: 'ready' },
      { name: 'by_age', restored: [1], state: 'ready' },
    ],
  })
  const refused = await run('index drop by_name by_age --generation 1 --yes')
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Give one name')])
  // A name that does not exist is found before the first index is changed.
  for (const command of ['index drop by_name by_town --now --yes', 'index restore by_name by_town'])
    expect((await run(command)).code).toBe(2)
  expect((await states()).some((text) => text.includes('hidden'))).toBe(false)

  const dropped = await run('index drop by_name by_age --now --yes --json')
  expect(dropped.json()).toEqual({
    step: 'drop',
    indexes: [
      { name: 'by_name', generations: [1] },
      { name: 'by_age', generations: [1] },
    ],
    done: true,
  })
  expect(await states()).toEqual([])
})

test('drop asks at a terminal, and any answer but yes means no', async () => {
  const ask = async (answer: string): Promise<Finished> => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true })
    stdin.end(`${answer}\n`)
    return run('index drop by_name', { stdin })
  }
  const no = await ask('')
  expect([no.code, no.stdout]).toEqual([1, 'Nothing was changed.\n'])
  expect(no.stderr).toContain('Hide index by_name, generation 1?')
  expect((await ask('y')).code).toBe(0)
  expect(await states()).toEqual(['index_by_name ready hidden'])
})

describe('the question of drop at an interactive terminal', () => {
  const press = (key: string, options: RunOptions = {}): Promise<Finished> => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true })
    stdin.write(key)
    return run('index drop by_name', { stdin, isTerminal: true, ...options })
  }

  test('Ctrl-C ends the command', async () => {
    const stopped = await press('\u0003')
    expect([stopped.code, stopped.stdout]).toEqual([130, ''])
    expect(stopped.stderr).toMatch(/\nStopped\.\n$/)
  })

  test('Ctrl-D means no', async () => {
    const no = await press('\u0004')
    expect([no.code, no.stdout]).toEqual([1, 'Nothing was changed.\n'])
    expect(no.stderr).toMatch(/\[y\/N\] .*\n$/s)
  })

  test('a signal ends the command', async () => {
    const stop = new AbortController()
    const stopped = press('', { stop: stop.signal })
    setTimeout(() => stop.abort(), 100)
    expect(await stopped).toMatchObject({ code: 130, stdout: '' })
  })

  test('the answer y hides the index', async () => {
    expect((await press('y\r')).code).toBe(0)
    expect(await states()).toEqual(['index_by_name ready hidden'])
  })
})

test('swap hides and drops generations that the config no longer needs, once the new one is ready', async () => {
  await run('index add by_name')
  const early = await run('index swap by_name --yes')
  expect([early.code, early.stderr]).toEqual([4, expect.stringContaining('generation 2, is building')])
  await run('index repair by_name --generation 2')
  const advice = 'generation 1, is no longer needed by this config. When no process queries it'
  for (const command of ['index list', 'index show by_name', 'status'])
    expect((await run(command)).stdout).toContain(advice)

  const swapped = await run('index swap by_name --yes')
  expect([swapped.code, swapped.stdout]).toEqual([
    0,
    expect.stringContaining('`looseleaf index restore by_name --generation 1` brings it back at once.'),
  ])
  expect(await states()).toEqual(['index_by_name ready hidden', 'index_by_name_2 ready'])
  // The hidden first generation cannot be kept in place of the second one.
  expect((await run('index swap by_name --generation 1 --yes')).code).toBe(4)
  await run('index swap by_name --yes')
  expect(await states()).toEqual(['index_by_name_2 ready'])
  expect((await run('index swap by_name --yes')).stdout).toBe('Index by_name has no other generation.\n')
})

test('swap refuses a config whose definition is not in the store, and keeps the newest generation of an index without config', async () => {
  const none = await run('index swap by_name --yes')
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('looseleaf index add by_name --fill')])
  const byLink = (age: boolean): typeof byName =>
    defineIndex('by_link', {
      properties: { link: 'string', ...(age && { age: 'integer' }) },
      shardOn: 'link',
    }) as unknown as typeof byName
  await store.addIndex([byLink(false), byLink(true)])
  await run('clean')
  expect((await run('index list')).stdout).toContain(
    'by_link, generation 1, has a newer generation beside it',
  )
  expect((await run('index swap by_link --yes --json')).json()).toMatchObject({
    step: 'hide',
    indexes: [{ name: 'by_link', generations: [1] }],
  })
})

/** Runs commands with another config. It needs a file name of its own, because a process loads a file once. */
function withConfig(name: string, indexes: string): (text: string) => Promise<Finished> {
  const file = `${name}.config.ts`
  const imports = [
    "import { defineConfig } from '@looseleaf/cli'",
    "import { defineIndex } from '@looseleaf/index-engine'",
  ]
  const config = `export default defineConfig({ shards: '${SHARDS}', indexes: [${indexes}] })`
  writeFileSync(join(cwd, file), [...imports, config].join('\n'))
  return (text) => run(`${text} --config ${file}`)
}

test('list and swap warn of a generation that is newer than the config', async () => {
  await run('index add by_name --fill')
  const on = withConfig('old', "defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })")
  const { stdout } = await on('index list')
  expect(stdout).toContain(
    'generation 2, is newer than the generation of this config, which may be outdated.',
  )
  expect(stdout).toContain('looseleaf index swap by_name --generation 1')
  const planned = await on('index swap by_name --dry-run')
  expect(planned.stderr).toContain('Warning: generation 2 is newer than generation 1')
  // With an explicit --generation there is no warning.
  expect((await on('index swap by_name --generation 1 --dry-run')).stderr).toBe('')
})

test('commands show the condition of a partial index', async () => {
  const tasks = { properties: { due: 'integer' }, shardOn: 'id' } as const
  await store.addIndex(defineIndex('by_due', { ...tasks, on: { kind: 'task' } }))
  const on = withConfig(
    'due',
    "defineIndex('by_due', { properties: { due: 'integer' }, shardOn: 'id', on: { open: true, kind: 'task' } })",
  )
  expect((await on('index add by_due --dry-run')).stdout).toContain(
    'a new generation, 2, beside the current one:\n  on: kind = "task" → kind = "task" and open = true\n',
  )
  await store.put({ kind: 'task', open: true, due: 1 })
  await store.put({ kind: 'note', open: true, due: 'never' })
  expect((await on('index add by_due --fill --json')).json()).toMatchObject({
    filled: { indexes: [{ rows: 1 }, { rows: 1, misfits: 0 }] },
  })
  expect((await on('index check by_due --generation 2')).code).toBe(0)
  expect((await on('index list')).stdout).toContain('due integer; on kind = "task" and open = true')
  expect((await on('status')).stdout).toContain('due integer; on kind = "task" and open = true')
  expect((await on('index show by_due')).stdout).toContain('\n  on          kind = "task" and open = true\n')
  expect((await on('index show by_due --json')).json()).toMatchObject({
    generations: [{ on: { kind: 'task' } }, { on: { kind: 'task', open: true } }],
  })
  expect((await on('index list --json')).json()).toMatchObject({
    indexes: [{ name: 'by_name' }, { on: { kind: 'task' } }, { on: { kind: 'task', open: true } }],
  })
  expect((await on('query by_due due=1 --scatter --json')).json()).toMatchObject({
    items: [{ properties: { kind: 'task' } }],
  })
})

test('a unique index that includes other properties stays unique when the old generation is swapped out', async () => {
  const unique = { properties: { mail: 'string' }, shardOn: 'mail', unique: true } as const
  await store.addIndex(defineIndex('by_mail', unique))
  await store.put({ mail: 'ada' })
  const on = withConfig(
    'mail',
    "defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true, include: ['title', 'age'] })",
  )
  const planned = (await on('index add by_mail --dry-run')).stdout
  expect(planned).toContain('a new generation, 2, beside the current one:\n  include: nothing → age, title\n')
  expect(planned).not.toContain('claims_by_mail')
  await on('index add by_mail')
  const early = await on('index swap by_mail --yes')
  expect([early.code, early.stderr]).toEqual([4, expect.stringContaining('generation 2, is building')])
  await on('index repair by_mail --generation 2')
  expect((await on('index add by_mail --dry-run')).stdout).toContain('exists as defined')

  expect((await on('index list')).stdout).toMatch(/by_mail +2 +ready +mail string; includes age, title +mail/)
  expect((await on('status')).stdout).toContain('mail string; includes age, title')
  const shown = await on('index show by_mail')
  expect(shown.stdout).toMatch(
    /generation 1, unique[^]*claims_by_mail: ready[^]*generation 2, unique[^]*claims_by_mail: ready/,
  )
  expect(shown.stdout).toContain('  includes    age, title\n')
  expect((await on('index show by_mail --json')).json()).toMatchObject({
    generations: [{ include: [] }, { include: ['title', 'age'], claims: { table: 'claims_by_mail' } }],
  })

  await on('index swap by_mail --yes')
  expect(await states()).toContain('claims_by_mail ready')
  const dropping = await on('index swap by_mail --dry-run')
  expect(dropping.stdout).toContain(
    'Its tables are dropped on every shard, except its claims, which generation 2 needs too.',
  )
  await on('index swap by_mail --yes')
  expect(await states()).toEqual(['index_by_name ready', 'claims_by_mail ready', 'index_by_mail_2 ready'])
  await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  expect((await on('count by_mail mail=ada --json')).json()).toMatchObject({ count: 1 })
  await on('index drop by_mail --now --yes')
  expect(await states()).toEqual(['index_by_name ready'])
})

test('a generation that a dead migration left half dropped is dropped without the others', async () => {
  const setRetiring = (): Promise<unknown> =>
    changeCatalog(store.context.driver, (indexes) =>
      indexes.map((entry) => (entry.name === 'by_name' ? { ...entry, state: 'retiring' } : entry)),
    )
  await setRetiring()
  const swap = await run('index swap by_name --yes')
  expect([swap.code, swap.stderr]).toEqual([
    4,
    'Error: Index by_name, generation 1, is half dropped, so it cannot be kept. Finish with: looseleaf index drop by_name\n',
  ])
  await store.addIndex(byName)
  await run('index repair by_name')
  const on = withConfig('name', "defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })")
  const back = await on('index swap by_name --generation 1 --yes')
  expect([back.code, back.stderr]).toEqual([
    4,
    expect.stringContaining('index drop by_name --generation 1\n'),
  ])
  expect((await on('index list')).stdout).toContain(
    'generation 1, is half dropped. Finish with: looseleaf index drop by_name --generation 1',
  )
  const dropped = await on('index drop by_name --generation 1 --yes')
  expect(dropped.stdout).toBe('Index by_name, generation 1, is dropped.\n')
  expect(await states()).toEqual(['index_by_name_2 ready'])
  expect((await store.query(byName, { name: 'name 1' })).items).toHaveLength(2)
})

test('check compares a generation and repair repairs it', async () => {
  const table = store.context.driver.shards.map((shard) =>
    shard.index({ table: 'index_by_name', columns: [{ name: 'name', type: 'string' }] }),
  )
  const pages = await Promise.all(table.map((each) => each.scan({ prefix: [], order: 'asc', limit: 9 })))
  const shard = pages.findIndex((page) => page.length > 0)
  await table[shard]!.remove([{ ...pages[shard]![0]!, before: Number.MAX_SAFE_INTEGER }])
  const bad = await run('index check by_name --generation 1 --json')
  expect([bad.code, bad.json()]).toMatchObject([1, { ok: false, indexes: [{ missing: 1 }] }])
  expect((await run('index repair by_name --json')).json()).toMatchObject({ added: 1 })
  expect((await run('index check by_name')).code).toBe(0)
  expect((await run('index repair by_name --restart --json')).json()).toMatchObject({ added: 6 })
  const unknown = await run('index check by_nam')
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    'Error: The store has no index "by_nam"; it has by_name.\n',
  ])
})

test('show prints the definition, state and filling of an index', async () => {
  await store.addIndex(byNameAndAge)
  await run('index repair by_name --generation 1')
  const [first] = store.context.driver.shards
  await first!.tasks.claim('clean-part/index_by_name_2', 'another process', 60_000)
  const stop = new AbortController()
  const filling = run('clean --index by_name', { stop: stop.signal })
  await expect
    .poll(async () => (await run('index show by_name --generation 2 --json')).json(), { timeout: 10_000 })
    .toMatchObject({ generations: [{ rows: { inProgress: { workers: 1 } } }] })
  stop.abort()
  await filling
  const { stdout } = await run('index show by_name')
  expect(stdout).toContain('by_name, generation 1\n  properties  name string\n  sharded on  name')
  expect(stdout).toContain('  table       index_by_name: ready\n')
  expect(stdout).toMatch(/ {2}cleaned .*: 0 rows added, 0 removed, 0 misfits/)
  expect(stdout).toMatch(/ {2}under way .* by 1 worker/)
  expect((await run('index show by_name --json')).json()).toMatchObject({
    name: 'by_name',
    generations: [
      { generation: 1, properties: ['name string'], claims: null, rows: { lastCleaned: { added: 0 } } },
      { generation: 2, rows: { table: 'index_by_name_2', state: 'building', lastCleaned: null } },
    ],
  })
})
