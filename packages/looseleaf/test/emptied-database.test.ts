import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
