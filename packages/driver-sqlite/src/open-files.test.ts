import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Driver } from '@looseleaf/core'
import type { EntityTable } from '@looseleaf/core/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sqliteShards } from './sqlite-shards.ts'

const NAME = 'shard-0.sqlite'
const GONE = { code: 'SHARD_UNAVAILABLE', shard: NAME, unknownOutcome: false }

let parent: string
let folder: string
let driver: Driver
let entities: EntityTable

beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'looseleaf-gone-'))
  folder = join(parent, 'data')
  driver = await sqliteShards({ folder }).connect()
  const [shard] = driver.shards
  await initShard(shard!)
  entities = shard!.entities
  await insert(1)
})
afterEach(async () => {
  await driver.close()
  rmSync(parent, { recursive: true })
})

const idOf = (n: number): Buffer => Buffer.alloc(16, n)
const insert = (n: number): Promise<unknown> =>
  entities.insert([{ id: idOf(n), version: 1, body: Buffer.from('b') }], { epoch: 1 })
const ids = (): readonly number[] => {
  const database = new Database(join(folder, NAME), { readonly: true })
  try {
    return (database.prepare('SELECT id FROM entities ORDER BY id').all() as { id: Buffer }[]).map(
      ({ id }) => id[0]!,
    )
  } finally {
    database.close()
  }
}

/** Ways in which an open file can go away, and the error for each: a reset script, a cleaning job, a new volume. */
const gone: Readonly<Record<string, [act: () => void, said: RegExp]>> = {
  'that was deleted with its folder': [
    () => rmSync(folder, { recursive: true }),
    /shard-0\.sqlite was deleted or moved/,
  ],
  'that was deleted': [() => rmSync(join(folder, NAME)), /shard-0\.sqlite was deleted or moved/],
  'whose log was deleted': [
    () => rmSync(join(folder, `${NAME}-wal`)),
    /shard-0\.sqlite-wal was deleted or moved/,
  ],
  'whose shared memory was deleted': [
    () => rmSync(join(folder, `${NAME}-shm`)),
    /shard-0\.sqlite-shm was deleted or moved/,
  ],
  'that was replaced by a copy': [
    () => {
      copyFileSync(join(folder, NAME), join(parent, 'copy'))
      renameSync(join(parent, 'copy'), join(folder, NAME))
    },
    /shard-0\.sqlite was replaced by another file/,
  ],
}

test.each(Object.entries(gone))(
  'a file %s rejects every write at once, and reads within a second',
  async (_, [act, said]) => {
    act()
    await expect(insert(2)).rejects.toMatchObject({ ...GONE, message: expect.stringMatching(said) as string })
    await expect(entities.read([idOf(1)])).rejects.toMatchObject(GONE)
  },
)

test('reads alone notice a missing file within a second', async () => {
  rmSync(folder, { recursive: true })
  const began = performance.now()
  let error: unknown
  while (error === undefined && performance.now() - began < 10_000) {
    error = await entities.read([idOf(1)]).then(
      () => undefined,
      (failure: unknown) => failure,
    )
  }
  expect(error).toMatchObject(GONE)
  expect(performance.now() - began).toBeLessThan(5_000)
})

test('files that are put back work again, with every acknowledged write', async () => {
  const aside = join(parent, 'aside')
  renameSync(folder, aside)
  mkdirSync(folder)
  await expect(insert(2)).rejects.toMatchObject(GONE)
  rmSync(folder, { recursive: true })
  renameSync(aside, folder)
  await insert(3)
  expect(ids()).toEqual([1, 3])
})

test('a file that replaced another is used by a new driver, and not by the open one', async () => {
  rmSync(folder, { recursive: true })
  const next = await sqliteShards({ folder }).connect()
  await next.shards[0]!.createTables()
  await expect(insert(2)).rejects.toMatchObject(GONE)
  await driver.close()
  expect(readdirSync(folder)).toContain(`${NAME}-wal`)
  expect(ids()).toEqual([])
  await next.close()
})

test('closing a database whose files were replaced keeps the writes of others to the new files', async () => {
  rmSync(join(folder, `${NAME}-shm`))
  const next = await sqliteShards({ folder }).connect()
  await next.shards[0]!.entities.insert([{ id: idOf(7), version: 1, body: Buffer.from('b') }], { epoch: 1 })
  await next.close()
  await expect(insert(2)).rejects.toMatchObject(GONE)
  await driver.close()
  expect(ids()).toContain(7)
})

/** Starts a process that has written to the folder, and deletes its log. */
async function startWithoutLog(): Promise<ChildProcess> {
  await driver.close()
  const child = fork(fileURLToPath(new URL('../test/keeps-files-open.ts', import.meta.url)), [folder], {
    execArgv: ['--conditions=@looseleaf/source'],
    silent: true,
  })
  await once(child, 'message')
  for (const name of ['-wal', '-shm']) rmSync(join(folder, `${NAME}${name}`))
  return child
}

test('a process whose log was deleted keeps the writes of others to the new log when it ends', async () => {
  const child = await startWithoutLog()
  driver = await sqliteShards({ folder }).connect()
  entities = driver.shards[0]!.entities
  await insert(2)
  await driver.close()
  const ended = once(child, 'exit')
  child.send('close')
  expect(await ended).toEqual([3, null])
  expect(ids()).toEqual([1, 2])
  // The copy has the write of the process.
  const copy = readdirSync(folder).find((name) => name.includes('.rescued-'))
  renameSync(join(folder, copy!), join(folder, NAME))
  rmSync(join(folder, `${NAME}-wal`), { force: true })
  expect(ids()).toEqual([1, 5])
})

test.each([
  [
    'prints the error that ends it',
    'throw',
    1,
    /TypeError: No listener handles this error\.\n +at .*keeps-files-open/,
  ],
  ['ends with the exit code of an earlier listener', 'set the code late', 3, /LooseleafWarning/],
])('a process whose log was deleted %s', async (_, message, code, printed) => {
  const child = await startWithoutLog()
  const stderr = text(child.stderr!)
  const ended = once(child, 'exit')
  child.send(message)
  expect(await ended).toEqual([code, null])
  expect(await stderr).toMatch(printed)
})

test('a store whose folder was deleted leaves a copy of its data at close if a call was rejected', async () => {
  rmSync(folder, { recursive: true })
  await expect(insert(2)).rejects.toMatchObject(GONE)
  await driver.close()
  const [copy, ...others] = readdirSync(folder)
  expect(others).toEqual([])
  expect(copy).toMatch(/^shard-0\.sqlite\.rescued-/)
  // The copy is not a shard of the store until a person puts it in the place of one.
  await expect(sqliteShards({ folder, create: false }).connect()).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
  })
  renameSync(join(folder, copy!), join(folder, NAME))
  expect(ids()).toEqual([1])
})

test('a folder that was deleted after its last use stays deleted', async () => {
  rmSync(folder, { recursive: true })
  await driver.close()
  expect(existsSync(folder)).toBe(false)
})
