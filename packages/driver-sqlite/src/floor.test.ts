import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { kyselyDriver } from '@looseleaf/driver-kysely'
import { statementTeller } from '@looseleaf/driver-kysely/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { sql } from 'kysely'
import { openDatabase } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { sqliteFlavor } from './flavor.ts'
import { sqliteShards } from './sqlite-shards.ts'

const FIRST = { updated: 0, addedId: 0 }
const entity = (number: number) => ({ id: Buffer.alloc(16, number), version: 1, body: Buffer.from('b') })

test('writes while the clock was ahead are below the next floor, and later writes above it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-sqlite-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const driver = await sqliteShards({ folder }).connect()
  onTestFinished(() => driver.close())
  const shard = driver.shards[0]!
  const { entities } = shard
  await initShard(shard)
  await entities.insert([entity(1)], { epoch: 1 })
  // A clock that is set right after the write leaves this state.
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
  // A time within a second of the floor is normal, and is below the floor soon.
  expect(await entities.raiseFloor()).toBe(next + 1)
})

test('a clock past the year 2255 raises no floor', async () => {
  const options = { file: ':memory:', synchronous: 'FULL', deadlineMs: 1_000 } as const
  const opened = await openDatabase(options)
  const dialect = () =>
    sqliteDialect({ ...opened, deadlineMs: 1_000, statements: statementTeller('s', undefined) })
  const far = sql<number>`${sql.lit(Date.UTC(2256, 0) * 1_000)}`
  const driver = kyselyDriver({
    shards: [
      { name: 'right', dialect: dialect(), flavor: sqliteFlavor },
      { name: 'ahead', dialect: dialect(), flavor: { ...sqliteFlavor, now: far, nowMicros: far } },
    ],
    closeConnections: async () => void opened.database.close(),
  })
  onTestFinished(() => driver.close())
  const [right, ahead] = driver.shards
  await initShard(right!)
  const floor = await right!.entities.raiseFloor()
  await expect(ahead!.entities.raiseFloor()).rejects.toMatchObject({
    code: 'BAD_CLOCK',
    shard: 'ahead',
    message: expect.stringContaining('The clock of the server of ahead says 2256-01-01') as unknown,
  })
  expect((await right!.entities.floor()).floor).toBe(floor)
  // A row of such a clock does not raise the floor either.
  await ahead!.entities.insert([entity(1)], { epoch: 1 })
  await expect(right!.entities.raiseFloor()).rejects.toMatchObject({ code: 'BAD_CLOCK' })
})
