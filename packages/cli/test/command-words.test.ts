import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanIndex } from '@looseleaf/cleaner'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { damageBody } from './damage-body.ts'
import { projectFolder, runInside, type Finished, type RunOptions } from './run-command.ts'

// Messages for people in situations where a command could look stuck, done or helpful.

const SHARDS = 'sqlite:data?shards=2'
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byNameAndAge = defineIndex('by_name', {
  properties: { name: 'string', age: 'integer' },
  shardOn: 'name',
})

let cwd: string
let store: DataStore
beforeEach(async () => {
  cwd = projectFolder()
  const shards = shardsFrom(SHARDS, { relativeTo: cwd, create: true })
  store = await DataStore.open({ shards, indexes: [byName], migrate: true, queryTimeMs: 10 })
  onTestFinished(() => store.close())
})

const run = (args: readonly string[], options: RunOptions = {}): Promise<Finished> =>
  runInside([...args, '--shards', SHARDS], { cwd, ...options })

test('a clean that waits for the lease of another process prints one note', async () => {
  const [first] = store.context.driver.shards
  // Longer than several polls, which are half a second apart.
  await first!.tasks.claim('clean-part/index_by_name', 'another process', 1_700)
  const { code, stderr } = await run(['clean'])
  expect(code).toBe(0)
  expect(stderr.split('Another process works on the rest.')).toHaveLength(2)
  expect((await run(['clean'])).stderr).toBe('')
})

test('an import from a line beyond the end exits with 1', async () => {
  writeFileSync(join(cwd, 'lines.jsonl'), '{"name":"a"}\n{"name":"b"}\n')
  const beyond = await run(['import', 'lines.jsonl', '--from-line', '4'])
  expect(beyond).toMatchObject({
    code: 1,
    stdout: 'Nothing was imported: line 4 is beyond the end; there are 2 lines.\n',
  })
  // The line after the last one, too.
  const next = await run(['import', 'lines.jsonl', '--from-line', '3'])
  expect([next.code, next.stdout]).toEqual([
    1,
    'Nothing was imported: line 3 is beyond the end; there are 2 lines.\n',
  ])
  expect(await run(['import', 'lines.jsonl', '--lines', '3'])).toMatchObject({ code: 1 })
  expect(await run(['import', 'lines.jsonl', '--from-line', '2', '--json'])).toMatchObject({ code: 0 })
  writeFileSync(join(cwd, 'empty.jsonl'), '')
  expect(await run(['import', 'empty.jsonl'])).toMatchObject({ code: 0 })
})

test('a command with --json that Ctrl-C stops prints one line of JSON on stderr', async () => {
  const { code, stdout, stderr } = await run(['clean', '--check', '--json'], { stop: AbortSignal.abort() })
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({ error: { code: 'ABORTED', message: 'Stopped.', retryable: false } })
})

test.each([['clean'], ['index repair by_name']])(
  'the help of %s has every field that it prints for a paused filling',
  async (text) => {
    await store.addIndex(byNameAndAge)
    await store.pauseIndex('by_name')
    const args = text.split(' ')
    const paused = await run([...args, '--json'])
    expect(paused.code).toBe(1)
    const help = (await run([...args, '--help'])).stdout.replaceAll(/\s+/g, ' ')
    expect(help).toContain('The exit code is 1 when a problem remains: a filling that is paused')
    const { indexes } = paused.json<{ indexes: readonly Record<string, unknown>[] }>()
    const halted = indexes.find((index) => index['halted'] === true)!
    for (const name of Object.keys(halted)) expect(help).toContain(`"${name}"`)
  },
)

test('clean advises looseleaf damaged for bodies that cannot be decoded', async () => {
  const { id } = await store.put({ name: 'a' })
  await damageBody(store, id, (body) => Buffer.concat([body, Buffer.from('x')]))
  for (const args of [['clean', '--check'], ['clean']]) {
    const { code, stdout } = await run(args)
    expect(code).toBe(1)
    expect(stdout).toContain('looseleaf damaged')
    expect(stdout).not.toContain('Repair with')
  }
})

test('index list shows generations, and index drop drops one or all', async () => {
  await store.addIndex(byNameAndAge)
  await cleanIndex(store)
  const listed = await run(['index', 'list'])
  expect(listed.stdout).toMatch(/^INDEX +GENERATION +STATE/)
  expect(listed.stdout).toMatch(/^by_name +1 +ready +name string/m)
  expect(listed.stdout).toMatch(/^by_name +2 +ready +name string, age integer/m)

  const none = await run(['index', 'drop', 'by_name', '--generation', '3'])
  expect(none).toMatchObject({ code: 2, stderr: 'Error: Index by_name has no generation 3; it has 1, 2.\n' })
  expect(await run(['index', 'drop', 'by_name', '--generation', 'old'])).toMatchObject({ code: 2 })

  const one = await run(['index', 'drop', 'by_name', '--generation', '1', '--now', '--yes'])
  expect(one).toMatchObject({ code: 0, stdout: 'Index by_name, generation 1, is dropped.\n' })
  expect(await store.indexes()).toMatchObject([{ name: 'by_name', generation: 2 }])

  await store.addIndex(byName)
  const all = await run(['index', 'drop', 'by_name', '--now', '--yes'])
  expect(all).toMatchObject({
    code: 0,
    stdout: 'Index by_name, generations 2, 3, is dropped.\n',
    stderr: 'Dropping index by_name, generations 2, 3 …\n',
  })
  const again = await run(['index', 'drop', 'by_name', '--now', '--yes', '--json'])
  expect([again.code, JSON.parse(again.stderr)]).toMatchObject([2, { error: { code: 'INDEX_NOT_FOUND' } }])
  expect(await store.indexes()).toEqual([])
})
