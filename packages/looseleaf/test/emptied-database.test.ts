import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DataStore, sqliteShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const open = (folder: string): Promise<DataStore> =>
  DataStore.open({ shards: sqliteShards({ folder }), migrate: true, onWarning: () => undefined })

test('a database that was refused joins in the same process once it is empty', async () => {
  const [folder, other] = [await newFolder(), await newFolder()]
  await (await open(other)).close()
  await using store = await open(folder)
  const file = join(folder, 'new.sqlite')
  await copyFile(join(other, 'shard-0.sqlite'), file)
  await expect(store.shards.add('new.sqlite')).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  for (const part of ['', '-wal', '-shm']) await rm(`${file}${part}`, { force: true })
  expect(await store.shards.add('new.sqlite')).toMatchObject({ number: 1, added: true })
})

test('a database with a table of another program joins in the same process once it is empty', async () => {
  const folder = await newFolder()
  await using store = await open(folder)
  const file = join(folder, 'new.sqlite')
  const database = new DatabaseSync(file)
  database.exec('CREATE TABLE looseleaf_tasks (title TEXT)')
  database.close()
  await expect(store.shards.add('new.sqlite')).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
  for (const part of ['', '-wal', '-shm']) await rm(`${file}${part}`, { force: true })
  expect(await store.shards.add('new.sqlite')).toMatchObject({ number: 1, added: true })
})

test('calls that add one database at the same time are all refused by its catalog', async () => {
  const [folder, other] = [await newFolder(), await newFolder()]
  await (await open(other)).close()
  await using store = await open(folder)
  await copyFile(join(other, 'shard-0.sqlite'), join(folder, 'new.sqlite'))
  const refusals = [0, 1, 2].map(async (turns) => {
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
    return store.shards.add('new.sqlite').catch((error: unknown) => error)
  })
  const refused = { code: 'LAYOUT_MISMATCH', message: expect.stringContaining('another store') }
  expect(await Promise.all(refusals)).toMatchObject([refused, refused, refused])
})
