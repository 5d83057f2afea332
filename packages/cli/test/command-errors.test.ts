import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { beforeEach, expect, test } from 'vitest'
import { exitCodes } from '../src/running/exit-codes.ts'
import { projectFolder, runCommand, runInside, type Finished } from './run-command.ts'

let cwd: string
beforeEach(() => {
  cwd = projectFolder()
})

const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Finished> =>
  runInside(args, { cwd, env })

test('--version prints the version of the package, and every command has help with examples', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
  const help = await run(['--help'])
  expect(help.code).toBe(0)
  const names = [...help.stdout.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1] as string)
  expect(names).toEqual([
    'init',
    'schema',
    'put',
    'get',
    'query',
    'count',
    'explain',
    'import',
    'export',
    'clean',
    'damaged',
    'index',
    'kind',
    'codec',
    'consumer',
    'policies',
    'shard',
    'status',
    'slow',
    'top',
    'console',
  ])
  for (const name of names) {
    for (const args of name === 'kind'
      ? [['kind', 'upgrade']]
      : name === 'codec'
        ? [
            ['codec', 'show'],
            ['codec', 'train'],
          ]
        : name === 'consumer'
          ? [
              ['consumer', 'list'],
              ['consumer', 'letters'],
              ['consumer', 'drop'],
            ]
          : name === 'shard'
            ? [
                ['shard', 'list'],
                ['shard', 'add'],
              ]
            : name === 'index'
              ? [
                  ['index', 'add'],
                  ['index', 'list'],
                  ['index', 'show'],
                  ['index', 'pause'],
                  ['index', 'resume'],
                  ['index', 'swap'],
                  ['index', 'drop'],
                  ['index', 'restore'],
                  ['index', 'check'],
                  ['index', 'exact'],
                  ['index', 'repair'],
                  ['index', 'violations'],
                ]
              : [[name]]) {
      const { code, stdout } = await run([...args, '--help'])
      expect(code).toBe(0)
      expect(stdout).toContain(`Examples:\n  # `)
      expect(stdout).toContain(`  $ looseleaf ${args.join(' ')}`)
      expect(stdout).toContain('JSON')
    }
  }
})

test.each([
  [['gett'], 2, 'Did you mean get?'],
  [[], 2, 'Usage: looseleaf'],
  [['get'], 2, "missing required argument 'id'"],
  [['get', 'x', '--loud'], 2, "unknown option '--loud'"],
  [['query', 'by_user', '--limit', '0'], 2, 'from 1 to 1000'],
  [['status'], 2, 'No store is given. Give --shards'],
  [['status', '--shards', 'redis://u:hunter2@h'], 2, 'Shards are given as mysql://'],
  [['status', '--shard=mysql://u:hunter2@h/d'], 2, 'unknown option'],
  [['status', '--config', 'none.ts'], 2, 'there is no such config file'],
  [['status', '--shards', 'memory:1'], 4, 'has no Looseleaf tables'],
  [['--shards', 'memory:1', 'status'], 4, 'has no Looseleaf tables'],
  [['index', '--shards', 'memory:1', 'list'], 4, 'has no Looseleaf tables'],
  [['get', 'x', '--debug', '--shards', 'memory:1'], 4, '    at '],
  [['--debug', 'get', 'x', '--shards', 'memory:1'], 4, '    at '],
  [['--json', 'get', 'x', '--shards', 'memory:1'], 4, '{"error":{"code":"NOT_MIGRATED"'],
  [['status', '--shards', 'mysql://u:hunter2@127.0.0.1:1/d'], 3, 'cannot be reached'],
  [['import', 'none.jsonl', '--shards', 'memory:1'], 2, 'none.jsonl cannot be read'],
  [
    ['import', 'node_modules', '--shards', 'memory:1'],
    2,
    'node_modules is a folder; a file of JSON lines is needed.',
  ],
])('%j exits with %i', async (args, code, words) => {
  const result = await run(args)
  expect(result.code).toBe(code)
  expect(result.stderr).toContain(words)
  expect(result.stdout + result.stderr).not.toContain('hunter2')
})

test('only init creates a missing folder of SQLite files', async () => {
  writeFileSync(join(cwd, 'lines.jsonl'), '{"a":1}\n')
  for (const args of [
    ['status'],
    ['schema'],
    ['put', '{}'],
    ['export'],
    ['clean'],
    ['import', 'lines.jsonl'],
  ]) {
    const result = await run([...args, '--shards', 'sqlite:mistyped'])
    expect({ args, ...result }).toMatchObject({ args, code: 4, stdout: '' })
    expect(result.stderr).toContain('mistyped holds no store')
    expect(existsSync(join(cwd, 'mistyped'))).toBe(false)
  }
  expect((await run(['init', '--shards', 'sqlite:mistyped'])).code).toBe(0)
  expect((await run(['status', '--shards', 'sqlite:mistyped'])).code).toBe(0)
})

test('help and errors use the same words', async () => {
  for (const args of [['--help'], ['index', '--help'], ['index', 'add', '--help'], ['get', '--help']]) {
    const { stdout } = await run(args)
    expect(stdout).toContain('print help')
    expect(stdout).not.toContain('display help')
  }
  const { stderr } = await run(['gett'])
  expect(stderr).toMatch(/^Error: unknown command 'gett'/)
})

test('errors of an existing store have their exit code, in one line or one JSON object', async () => {
  const index = defineIndex('by_user', { properties: { user_id: 'uuid' }, shardOn: 'user_id' })
  const store = await DataStore.open({
    shards: sqliteShards({ folder: join(cwd, 'data') }),
    indexes: [index],
    migrate: true,
  })
  await store.close()
  const env = { LOOSELEAF_SHARDS: 'sqlite:data' }
  const id = randomUUID()
  const cases: [string[], number, string, string][] = [
    [['get', id], 1, '', `There is no entity ${id}.\n`],
    [['get', 'x'], 2, 'Error: An id has to be a UUID string', ''],
    [['put', '{'], 2, 'Error: One JSON object is needed', ''],
    [['put', '{"user_id":7}'], 1, 'Error: Index by_user: property user_id', ''],
    [['query', 'by_link'], 2, 'Error: The store has no index "by_link"; it has by_user.', ''],
    [['query', 'by_user'], 2, 'or ask all shards with --scatter.', ''],
    [['count', 'by_user'], 2, 'or ask all shards with --scatter.', ''],
    [['query', 'by_user', 'user_id=me'], 2, 'Error: Index by_user: user_id is of type uuid', ''],
    [['query', 'by_user', `user_id=${id}`, '--cursor', 'x'], 2, 'Error: ', ''],
    [['index', 'add', 'by_link'], 2, 'Error: There is no config file, and an index is added', ''],
    [['status', '--shards', 'sqlite:data?shards=2'], 4, 'Error: ', ''],
  ]
  for (const [args, code, stderr, stdout] of cases) {
    const result = await run(args, env)
    expect({ args, ...result }).toMatchObject({ args, code, stdout })
    expect(result.stderr).toContain(stderr)
    expect(result.stderr.split('\n').length).toBeLessThanOrEqual(2)
  }
  const json = await run(['get', 'x', '--json'], env)
  expect(JSON.parse(json.stderr)).toEqual({
    error: { code: 'BAD_ID', message: expect.any(String), retryable: false },
  })
  const debug = await run(['get', 'x', '--debug'], env)
  expect(debug.stderr).toMatch(/^Error: An id has to be.*\nLooseleafError: An id.*\n {4}at /)
})

test('the error of a config names its file and property', async () => {
  writeFileSync(
    join(cwd, 'looseleaf.config.ts'),
    `export default { shards: process.env.NOT_SET, indexes: [] }`,
  )
  const nowhere = await runInside(['status'], { cwd })
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('names no shards') as string])
  const named = await runInside(['init', '--shards', 'memory:1'], { cwd })
  expect(named.code).toBe(0)
  writeFileSync(join(cwd, 'looseleaf.config.ts'), `export default { shards: 'memory:1', indices: [] }`)
  const result = await runCommand(['status'], { cwd })
  expect(result.code).toBe(2)
  expect(result.stderr).toBe(
    'Error: looseleaf.config.ts: "indices" is not a property of a config; it has shards, indexes, kinds, router, codec, deleteDelayMs, queryTimeMs, writeOrder, onIndexFailure.\n',
  )
})

test('queryTimeMs of a config is not checked against a store that --shards names, and an error names its source', async () => {
  const config = join(cwd, 'looseleaf.config.ts')
  const init = await run(['init', '--shards', 'sqlite:other'])
  expect(init.code).toBe(0)
  writeFileSync(config, `export default { shards: 'sqlite:own', queryTimeMs: 900 }`)
  expect((await run(['init'])).code).toBe(0)
  for (const args of [
    ['status'],
    ['export', '--shards', 'sqlite:other'],
    ['status', '--shards', 'sqlite:own'],
  ])
    expect({ args, ...(await run(args)) }).toMatchObject({ args, code: 0 })
  expect(await run(['export'], { LOOSELEAF_SHARDS: 'sqlite:other' })).toMatchObject({ code: 0 })
  const again = await run(['init', '--shards', 'sqlite:other'])
  expect(again.code).toBe(4)
  expect(again.stderr).toContain('queryTimeMs of 5000')
  expect(again.stderr).toContain(`(Given by ${config}: queryTimeMs.)`)
  const made = await run(['init', '--shards', 'sqlite:new'])
  expect(made.code).toBe(0)
  const store = await DataStore.open({ shards: sqliteShards({ folder: join(cwd, 'new') }), queryTimeMs: 900 })
  await store.close()
})

test('the README explains every exit code', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  for (const code of Object.values(exitCodes)) expect(readme).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'))
})
