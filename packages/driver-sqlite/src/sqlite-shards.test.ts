import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Driver, DriverFactory } from '@looseleaf/core'
import type { EntityTable } from '@looseleaf/core/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryShards } from './memory-shards.ts'
import { sqliteShards, type SqliteShardsOptions } from './sqlite-shards.ts'

const cleanUps: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-sqlite-'))
  cleanUps.push(() => rm(folder, { recursive: true }))
  return folder
}

async function connect(factory: DriverFactory): Promise<Driver> {
  const driver = await factory.connect()
  cleanUps.push(() => driver.close())
  return driver
}

/** Returns the entity table of the only shard of a new folder. */
async function freshTable(
  options: Partial<SqliteShardsOptions> = {},
): Promise<{ folder: string; entities: EntityTable }> {
  const folder = await freshFolder()
  const [shard] = (await connect(sqliteShards({ folder, ...options }))).shards
  await initShard(shard!)
  return { folder, entities: shard!.entities }
}

const entity = (version = 1) => ({
  id: Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'hex'),
  version,
  body: Buffer.from('b'),
})

describe('a folder', () => {
  test('a new folder has a file for each shard', async () => {
    const folder = join(await freshFolder(), 'deep', 'down')
    const driver = await connect(sqliteShards({ folder, shards: 3 }))
    expect(driver.shards.map(({ name }) => name)).toEqual([0, 1, 2].map((number) => `shard-${number}.sqlite`))
    expect((await readdir(folder)).filter((name) => name.endsWith('.sqlite')).toSorted()).toEqual([
      'shard-0.sqlite',
      'shard-1.sqlite',
      'shard-2.sqlite',
    ])
  })

  test('a folder with another number of shards is LAYOUT_MISMATCH', async () => {
    const folder = await freshFolder()
    await (await sqliteShards({ folder, shards: 2 }).connect()).close()
    for (const shards of [1, 3]) {
      await expect(sqliteShards({ folder, shards }).connect()).rejects.toMatchObject({
        code: 'LAYOUT_MISMATCH',
      })
    }
    await (await sqliteShards({ folder, shards: 2 }).connect()).close()
  })

  test('a missing folder is NOT_MIGRATED with create: false', async () => {
    const folder = join(await freshFolder(), 'mistyped')
    const shards = sqliteShards({ folder, create: false })
    await expect(shards.connect()).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
    await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' })
    await (await sqliteShards({ folder }).connect()).close()
    await (await shards.connect()).close()
    const file = join(folder, 'shard-0.sqlite')
    await expect(sqliteShards({ folder: file, create: false }).connect()).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
    })
  })

  test('the message for another number of shards has the right plurals', async () => {
    const folder = await freshFolder()
    await (await sqliteShards({ folder }).connect()).close()
    await expect(sqliteShards({ folder, shards: 2 }).connect()).rejects.toThrow(
      'holds 1 shard, and 2 were asked for.',
    )
  })

  test('several drivers may create a folder at the same time', async () => {
    const folder = await freshFolder()
    const drivers = await Promise.all(
      Array.from({ length: 4 }, () => connect(sqliteShards({ folder, shards: 3 }))),
    )
    await Promise.all(drivers.flatMap(({ shards }) => shards.map((shard) => shard.createTables())))
    expect(await drivers[3]?.shards[2]?.entities.count()).toMatchObject({ entities: 0 })
  })

  test('a folder that is a file is SHARD_UNAVAILABLE', async () => {
    const file = join(await freshFolder(), 'file')
    await writeFile(file, 'text')
    await expect(sqliteShards({ folder: file }).connect()).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: false,
    })
  })

  test('a folder with a file that is no database is SHARD_UNAVAILABLE', async () => {
    const folder = await freshFolder()
    await writeFile(
      join(folder, 'shard-0.sqlite'),
      'not a database, but long enough to be read as the header of one. '.repeat(20),
    )
    await expect(sqliteShards({ folder }).connect()).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: false,
    })
  })

  test('a new file has to end in .sqlite, and an existing file of another name is a shard', async () => {
    const folder = await freshFolder()
    await writeFile(join(folder, 'old'), '')
    const driver = await connect(sqliteShards({ folder }))
    const fresh = driver.shardAt!('nonsense')
    for (const call of [() => fresh.catalog.load(), () => fresh.createTables()])
      await expect(call()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: 'The file of a new SQLite shard ends in .sqlite, such as shard-2.sqlite; got "nonsense".',
      })
    expect(await readdir(folder)).not.toContain('nonsense')
    const old = driver.shardAt!('old')
    await old.createTables()
    expect(await old.catalog.load()).toBeUndefined()
  })

  test('a reopened folder has the rows that were written', async () => {
    const folder = await freshFolder()
    const row = entity()
    const first = await sqliteShards({ folder }).connect()
    await initShard(first.shards[0]!)
    await first.shards[0]?.entities.insert([row], { epoch: 1 })
    await first.close()
    const second = await connect(sqliteShards({ folder }))
    expect(await second.shards[0]?.entities.readVersions([row.id])).toEqual([1])
  })
})

describe('a file that another connection has locked', () => {
  async function lock(folder: string): Promise<{ release(): void }> {
    const database = new Database(join(folder, 'shard-0.sqlite'))
    database.exec('BEGIN IMMEDIATE')
    cleanUps.push(async () => database.close())
    return { release: () => void database.exec('COMMIT') }
  }

  test('a write is SHARD_BUSY at its deadline, and reads are answered before', async () => {
    const { folder, entities } = await freshTable({ deadlineMs: 50 })
    await lock(folder)
    const row = entity()
    await expect(entities.insert([row], { epoch: 1 })).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      retryable: true,
      unknownOutcome: false,
    })
    expect(await entities.readVersions([row.id])).toEqual([undefined])
  })

  test('a write waits for the lock without blocking the process', async () => {
    const { folder, entities } = await freshTable({ deadlineMs: 60_000 })
    const held = await lock(folder)
    const row = entity()
    let done = false
    const writing = entities.insert([row], { epoch: 1 }).then(() => (done = true))
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(done).toBe(false)
    held.release()
    await writing
    expect(await entities.readVersions([row.id])).toEqual([1])
  })

  test('a waiting write ends when its signal fires', async () => {
    const { folder, entities } = await freshTable({ deadlineMs: 60_000 })
    const held = await lock(folder)
    const controller = new AbortController()
    const row = entity()
    const writing = entities.insert([row], { epoch: 1, signal: controller.signal })
    await new Promise((resolve) => setTimeout(resolve, 1))
    controller.abort()
    await expect(writing).rejects.toMatchObject({ code: 'ABORTED' })
    held.release()
    await entities.insert([entity()], { epoch: 1 })
    expect(await entities.readVersions([row.id])).toEqual([undefined])
  })
})

test('two processes increment one counter without a lost update', async () => {
  const { folder, entities } = await freshTable()
  const counter = entity(1)
  await entities.insert([counter], { epoch: 1 })
  const ADDS = 50
  const id = counter.id.toString('hex')
  const child = fork(
    fileURLToPath(new URL('../test/second-process.ts', import.meta.url)),
    [folder, id, String(ADDS)],
    {
      execArgv: ['--conditions=@looseleaf/source'],
    },
  )
  const ended = once(child, 'exit')
  for (let added = 0; added < ADDS;) {
    const [base] = await entities.readVersions([counter.id])
    const [won] = await entities.replace(
      [{ ...counter, base: base as number, version: (base as number) + 1 }],
      { epoch: 1 },
    )
    if (won === true) added++
  }
  expect(await ended).toEqual([0, null])
  // Each swap that won has raised the version by one.
  expect(await entities.readVersions([counter.id])).toEqual([1 + 2 * ADDS])
  expect(await entities.count()).toMatchObject({ entities: 1 + ADDS })
})

describe('durability', () => {
  test('durability is full by default, without warnings', async () => {
    const driver = await connect(sqliteShards({ folder: await freshFolder() }))
    expect(await driver.shards[0]?.warnings()).toEqual([])
  })

  test("durability 'normal' has a warning", async () => {
    const driver = await connect(sqliteShards({ folder: await freshFolder(), durability: 'normal' }))
    expect(await driver.shards[0]?.warnings()).toEqual([expect.stringMatching(/loss of power/)])
  })
})

describe('options', () => {
  test('an invalid option is rejected by its name', () => {
    for (const [options, message] of [
      [undefined, /options as an object; got nothing/],
      [null, /options as an object; got null/],
      [{}, /folder.*got nothing/],
      [{ folder: '' }, /folder/],
      [{ folder: 'f', shards: 0 }, /shards.*from 1 to 1024; got 0\./],
      [{ folder: 'f', shards: 1_025 }, /shards.*from 1 to 1024; got 1025\./],
      [{ folder: 'f', shards: 1.5 }, /shards/],
      [{ folder: 'f', shards: '2' }, /shards.*a string of 1 character/],
      [{ folder: 'f', durability: 'none' }, /durability.*'full' or 'normal'/],
      [{ folder: 'f', deadlineMs: 0 }, /deadlineMs/],
      [{ folder: 'f', entityTable: 'a b' }, /entityTable/],
      [{ folder: 'f', entityTable: 'looseleaf_meta' }, /entityTable/],
      [{ folder: 'f', shard: 2 }, /no option "shard"; there are folder, shards/],
    ] as const) {
      expect(() => sqliteShards(options as unknown as SqliteShardsOptions)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
      )
    }
  })

  test('the entity table may have another name', async () => {
    const driver = await connect(sqliteShards({ folder: await freshFolder(), entityTable: 'pages' }))
    expect(driver.shards[0]?.schema([])[0]).toMatch(/"pages"/)
  })
})

describe('memory', () => {
  test('each connect creates its own databases', async () => {
    const factory = memoryShards(2)
    expect(factory.shardCount).toBe(2)
    const [first, second] = [await connect(factory), await connect(factory)]
    await first.shards[0]?.createTables()
    expect(await first.shards[0]?.entities.count()).toMatchObject({ entities: 0 })
    await expect(second.shards[0]?.entities.count()).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
    await expect(first.shards[1]?.entities.count()).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
  })

  test('an invalid number of shards is rejected', () => {
    for (const count of [0, -1, 1.5, Number.NaN]) {
      expect(() => memoryShards(count)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    }
  })
})
