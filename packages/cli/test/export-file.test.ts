import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DataStore } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { writeFile } from '../src/output/write-file.ts'
import { damageBody } from './damage-body.ts'
import { projectFolder, runInside, type Finished, type RunOptions } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'

let cwd: string
let folder: string
let file: string
beforeEach(async () => {
  cwd = projectFolder()
  folder = join(cwd, 'backups')
  mkdirSync(folder)
  file = join(folder, 'all.jsonl')
  writeFileSync(file, 'what was there\n', { mode: 0o640 })
  chmodSync(file, 0o640)
  await runInside(['init', '--shards', SHARDS], { cwd })
})

const exportTo = (target: string, options: RunOptions = {}, shards = SHARDS): Promise<Finished> =>
  runInside(['export', '--shards', shards, '--output', target], { cwd, ...options })

async function openStore(): Promise<DataStore> {
  const store = await DataStore.open({ shards: shardsFrom(SHARDS, { relativeTo: cwd }) })
  onTestFinished(() => store.close())
  return store
}

function expectUntouched(): void {
  expect(readFileSync(file, 'utf8')).toBe('what was there\n')
  expect(readdirSync(folder)).toEqual(['all.jsonl'])
}

test('an export replaces the file, keeps its mode, and leaves nothing beside it', async () => {
  await (await openStore()).put({ a: 1 })
  expect(await exportTo(file)).toMatchObject({ code: 0, stdout: 'Complete: 1 entity exported.\n' })
  expect(readFileSync(file, 'utf8')).toMatch(/^\{"id":"[^"]+","a":1\}\n$/)
  expect(statSync(file).mode & 0o777).toBe(0o640)
  expect(readdirSync(folder)).toEqual(['all.jsonl'])
})

test.each(['sqlite:none', 'sqlite:data?shards=3', 'mysql://root@127.0.0.1:1/feed'])(
  'an export from %s fails and leaves the file unchanged',
  async (shards) => {
    expect((await exportTo(file, {}, shards)).code).toBeGreaterThan(2)
    expectUntouched()
  },
)

test('an export that fails half way, or is stopped by Ctrl-C, leaves the file unchanged', async () => {
  const store = await openStore()
  const { id } = await store.put({ a: 1 })
  expect(await exportTo(file, { stop: AbortSignal.abort() })).toMatchObject({ code: 130 })
  expectUntouched()
  await damageBody(store, id, (body) => Buffer.concat([body, Buffer.from('x')]))
  expect(await exportTo(file)).toMatchObject({ code: 4 })
  expectUntouched()
})

test('the .part file of a failed export is removed', async () => {
  const failure = new Error('no more')
  let part: string[] = []
  const failing = writeFile(file, async (write) => {
    await write('x'.repeat(1_000_000))
    part = readdirSync(folder)
    throw failure
  })
  await expect(failing).rejects.toBe(failure)
  expect(part).toEqual(['all.jsonl', expect.stringMatching(/^all\.jsonl\.[0-9a-f]{8}\.part$/)])
  expectUntouched()
})

test('an export keeps a link and a device, and reports a path that cannot be written', async () => {
  const link = join(cwd, 'link.jsonl')
  symlinkSync(file, link)
  expect(await exportTo(link)).toMatchObject({ code: 0 })
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readFileSync(file, 'utf8')).toBe('')
  expect(await exportTo('/dev/null')).toMatchObject({ code: 0 })
  expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  expect(await exportTo(folder)).toMatchObject({ code: 2, stderr: expect.stringContaining('is a folder') })
  expect(await exportTo(join(cwd, 'none', 'all.jsonl'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be written (ENOENT)'),
  })
  expect(existsSync(join(cwd, 'none'))).toBe(false)
})
