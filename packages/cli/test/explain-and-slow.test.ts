import { DataStore } from '@looseleaf/store'
import { defineIndex } from '@looseleaf/index-engine'
import { expect, test } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'
const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })

async function folderWithStore(): Promise<string> {
  const cwd = projectFolder()
  const shards = shardsFrom(SHARDS, { relativeTo: cwd })
  const store = await DataStore.open({ shards, indexes: [byUser], migrate: true })
  await Promise.all([1, 2, 3].map((n) => store.put({ user: 'ada', n })))
  await store.close()
  return cwd
}

test('explain prints the shards and the rows of a query', async () => {
  const cwd = await folderWithStore()
  const one = await runInside(['explain', 'by_user', 'user=ada', 'n>1', '--shards', SHARDS], { cwd })
  expect(one).toMatchObject({ code: 0, stderr: '' })
  expect(one.stdout).toMatch(/Shards: {2}1 of 2: shard-\d\.sqlite\nReads: {3}1 range with 2 index rows\n/)
  const all = await runInside(['explain', 'by_user', '--scatter', '--json', '--shards', SHARDS], { cwd })
  expect(all.json()).toMatchObject({ index: 'by_user', scatter: true, estimatedRows: 3, isAtLeast: false })
})

test('explain without the shard key is an error that names --scatter', async () => {
  const cwd = await folderWithStore()
  const { code, stderr } = await runInside(['explain', 'by_user', '--shards', SHARDS], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('--scatter')
})

test('slow says that SQLite shards have no server', async () => {
  const cwd = await folderWithStore()
  const text = await runInside(['slow', '--shards', SHARDS], { cwd })
  expect(text.stdout).toBe(
    'No shard of this store has a server: SQLite runs its statements within the program.\n',
  )
  const json = await runInside(['slow', '--json', '--shards', SHARDS], { cwd })
  expect(json.json()).toMatchObject({ shards: [{ statements: null, error: null }, { statements: null }] })
})
