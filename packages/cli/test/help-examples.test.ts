import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { consume } from '@looseleaf/changes'
import { startCleaner } from '@looseleaf/cleaner'
import { parseId } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterAll, beforeAll, describe, expect, test, vi, type TestContext } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { COMMAND, projectFolder, runInside } from './run-command.ts'

const ID = '0192f0c1-7c1e-7abc-8def-0123456789ab'
const LINK_CONFIG = `defineIndex('entries_by_link', { properties: { link: 'string', published: 'time' }, shardOn: 'link' })`
const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { defineIndex } from '@looseleaf/index-engine'
import { defineKind, typed } from '@looseleaf/kinds'
export default defineConfig({
  kinds: [defineKind('person', { schema: typed(), upgrades: [(bag) => bag] })],
  shards: 'sqlite:data?shards=2',
  // A move of buckets waits for two of these times.
  queryTimeMs: 100,
  indexes: [
    defineIndex('entries_by_user', { properties: { user_id: 'uuid', published: 'time' }, shardOn: 'user_id' }),
    defineIndex('entries_by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' }),
    defineIndex('jobs_by_status', { properties: { status: 'string' }, shardOn: 'status' }),
    defineIndex('users_by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true }),
    ${LINK_CONFIG},
  ],
})
`
const oldLink = defineIndex('entries_by_link', { properties: { link: 'string' }, shardOn: 'link' })

/** Returns the command lines after `$ looseleaf ` in the help of every command. */
async function allExamples(command: readonly string[] = []): Promise<string[]> {
  const { stdout } = await runInside([...command, '--help'])
  const lines = [...stdout.matchAll(/^ {2}\$ looseleaf (.*)$/gm)].map(([, line]) => line as string)
  const names = /^Commands:\n((?: .*\n)*)/m.exec(stdout)?.[1]?.matchAll(/^ {2}([a-z-]+)/gm) ?? []
  const below = await Promise.all(Array.from(names, ([, name]) => allExamples([...command, name as string])))
  return [...lines, ...below.flat()]
}

async function withStore(cwd: string, use: (store: DataStore) => Promise<unknown>): Promise<void> {
  await using store = await DataStore.open({
    shards: shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }),
  })
  await use(store)
}

async function succeed(cwd: string, line: string): Promise<void> {
  const args = Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '')
  // Simulates a terminal whose user answers each question with yes.
  const stdin = Object.assign(Readable.from(['y\n']), { isTTY: true })
  const stop = { stopAtOutput: args[0] === 'console' }
  const { code, stdout, stderr } = await runInside(args, { cwd, stdin, isTerminal: true, ...stop })
  expect(code, `${line}\n${stdout}${stderr}`).toBe(0)
}

/** Makes a folder with the config, files and two stores that the examples use. */
async function makeProject(atEnd: (remove: () => void) => void): Promise<string> {
  const cwd = projectFolder(atEnd)
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const entry = JSON.stringify({ title: 'Hello', link: 'https://example.com', tags: ['cats', 'dogs'] })
  writeFileSync(join(cwd, 'entries.jsonl'), `${entry}\n${entry}\n`)
  writeFileSync(join(cwd, 'entry.json'), entry)
  mkdirSync(join(cwd, 'bin'))
  const command = join(cwd, 'bin', 'looseleaf')
  writeFileSync(
    command,
    `#!/bin/sh\nexec '${process.execPath}' ${COMMAND.map((argument) => `'${argument}'`).join(' ')} "$@"\n`,
  )
  chmodSync(command, 0o755)
  await succeed(cwd, 'init --shards sqlite:old')
  await succeed(cwd, 'import entries.jsonl --shards sqlite:old')
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG.replace(LINK_CONFIG, ''))
  await succeed(cwd, 'init')
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await withStore(cwd, async (store) => {
    await store.addIndex(oldLink)
    const id = parseId(ID)
    const number = store.context.router.shardOfId(id)
    const body = store.context.codec.encode({ title: 'One', link: 'https://example.com' })
    const epoch = store.context.catalog.current().epochs[number] as number
    const row = { id, version: 1_700_000_000_000_000, body }
    await store.context.driver.shards[number]?.entities.insert([row], { epoch })
  })
  await succeed(cwd, 'init')
  await succeed(cwd, 'clean')
  return cwd
}

/** Preparations for examples, selected by the beginning of the command line. */
const before: readonly (readonly [RegExp, (cwd: string) => Promise<void>])[] = [
  [
    /^index add/,
    (cwd) =>
      withStore(cwd, async (store) => {
        for (const name of ['entries_by_link', 'entries_by_tag']) await store.dropIndex(name)
      }),
  ],
  [/^index restore/, (cwd) => succeed(cwd, 'index drop entries_by_link entries_by_tag')],
  [
    /^index (pause|resume)/,
    async (cwd) => {
      await withStore(cwd, (store) => store.dropIndex('entries_by_link'))
      await succeed(cwd, 'index add entries_by_link')
    },
  ],
  [
    /^status --check/,
    (cwd) =>
      withStore(cwd, async (store) => {
        await using cleaner = startCleaner(store)
        const isFollowed = () => cleaner.status().shards.every(({ lastRoundAt }) => lastRoundAt !== undefined)
        await vi.waitUntil(isFollowed, { timeout: 30_000 })
      }),
  ],
  [/^index resume/, (cwd) => succeed(cwd, 'index pause entries_by_link')],
  [
    /^consumer (letters|drop)/,
    (cwd) =>
      withStore(cwd, async (store) => {
        await using consumer = consume(store, 'search', () => {}, { from: 'beginning' })
        const isAtWork = (): boolean => consumer.status().shards.every(({ partitions }) => partitions > 0)
        await vi.waitUntil(isAtWork, { timeout: 30_000 })
      }),
  ],
  [
    /^shard remove/,
    async (cwd) => {
      // The waits of moves leap.
      await using store = await DataStore.open({
        shards: shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }),
        time: leapingTime(),
      })
      await store.shards.drain(1)
    },
  ],
  [
    /^shard undo/,
    (cwd) =>
      withStore(cwd, async (store) => {
        const stop = new AbortController()
        const plan = { from: 0, to: 1, buckets: '77-96' }
        const moving = store.shards.move(plan, { signal: stop.signal, onProgress: () => stop.abort() })
        await expect(moving).rejects.toMatchObject({ code: 'ABORTED' })
      }),
  ],
  [
    /^codec train/,
    async (cwd) => {
      // The first dictionary of a store waits five seconds. This clock does not sleep.
      await using store = await DataStore.open({
        shards: shardsFrom('sqlite:data?shards=2', { relativeTo: cwd }),
        time: { now: () => Date.now(), sleep: async () => {} },
      })
      const link = 'https://example.com/with/what/many/entries/have/in/common'
      await store.putMany(Array.from({ length: 30 }, (_, n) => ({ link, published: new Date(n), n })))
      await store.trainDictionary()
    },
  ],
]

/** The address of a shard in the help is of a server, and the store of these tests is in SQLite files. */
function withLocalAddress(line: string): string {
  return line.replace(/^(shard add) db3:3306\/feed(?= |$)/, '$1 shard-2.sqlite')
}

/** Tells whether a command moves buckets, so that it waits for other processes of the store. */
const waits = (example: string): boolean => /^shard (move|drain|undo|rebalance|remove)/.test(example)

const examples = await allExamples()

describe('the examples of --help', () => {
  let project: string
  let remove = (): void => {}
  beforeAll(async () => {
    project = await makeProject((atEnd) => (remove = atEnd))
  })
  afterAll(() => remove())

  test('the search finds examples of every command', () => {
    const commands = ['init', 'put', 'export', 'index add', 'index swap', 'status']
    expect(commands.filter((name) => !examples.some((line) => line.startsWith(name)))).toEqual([])
  })

  async function tryExample(example: string, { onTestFinished }: TestContext): Promise<void> {
    const line = withLocalAddress(example)
    const cwd = `${project}-${examples.indexOf(example)}`
    cpSync(project, cwd, { recursive: true, verbatimSymlinks: true })
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    for (const [which, prepare] of before) if (which.test(line)) await prepare(cwd)
    if (!/[|<>&]/.test(line.replaceAll(/'[^']*'/g, ''))) {
      await succeed(cwd, line)
      return
    }
    const env = { ...process.env, PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`, LOOSELEAF_SHARDS: '' }
    const { status, stderr } = spawnSync('sh', ['-c', `looseleaf ${line}`], { cwd, env, encoding: 'utf8' })
    expect({ status, stderr }).toMatchObject({ status: 0 })
    expect(stderr).not.toContain('Error')
  }

  test.for(examples.filter((example) => !waits(example)))('looseleaf %s', tryExample)

  // Side by side, because they wait most of the time.
  test.concurrent.for(examples.filter(waits))('looseleaf %s', { timeout: 60_000 }, tryExample)
})
