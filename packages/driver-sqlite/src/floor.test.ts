import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteShards } from './sqlite-shards.ts'

const FIRST = { updated: 0, addedId: 0 }
const entity = (number: number) => ({ id: Buffer.alloc(16, number), version: 1, body: Buffer.from('b') })

test('what was written while the clock was ahead is below the next floor, and what comes then is above it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-sqlite-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const driver = await sqliteShards({ folder }).connect()
  onTestFinished(() => driver.close())
  const { entities, catalog, ...shard } = driver.shards[0]!
  await shard.createTables()
  await catalog.init({ epoch: 1, storeId: 's', shardNumber: 0, shardCount: 1, router: 'r', indexes: [] })
  await entities.insert([entity(1)], { epoch: 1 })
  // As a machine has it whose clock was set right after the write.
  const file = new Database(join(folder, 'shard-0.sqlite'))
  file.exec('UPDATE entities SET updated = updated + 3600000000')
  file.close()
  const until = await entities.raiseFloor()
  const [first, ...more] = await entities.pageOfChanges({ after: FIRST, until }, 10)
  expect([first?.id, more]).toEqual([entity(1).id, []])
  await entities.insert([entity(2)], { epoch: 1 })
  const next = await entities.raiseFloor()
  const rest = await entities.pageOfChanges({ after: first!, until: next }, 10)
  expect(rest.map(({ id }) => id)).toEqual([entity(2).id])
  // Within a second of the floor a time is as any other, and comes by itself.
  expect(await entities.raiseFloor()).toBe(next + 1)
})
