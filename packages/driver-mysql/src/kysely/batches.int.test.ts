import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Shard } from '@looseleaf/core'
import type { BatchRow, EntityReplace } from '@looseleaf/core/internal'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { startServers } from '@looseleaf-tooling/mariadb'
import { createConnection } from 'mysql2/promise'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { epoch, freshBench, newEntity, threadBusyWith } from '../../test/bench.ts'
import { wordsThrough } from '../../test/sent-statements.ts'
import type { TcpProxy } from '../../test/tcp-proxy.ts'

const bench = await freshBench()
let proxy: TcpProxy
let shard: Shard
/** First words of the statements since the start of a test. */
let sent: string[]

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  shard = (await bench.migrate({}, behind.url)).shard
  sent = wordsThrough(proxy)
})

/** Returns an insertion, a replacement and a held row. */
async function someRows(): Promise<[EntityReplace, EntityReplace, BatchRow]> {
  const [replaced, held] = [newEntity(), newEntity()]
  await shard.entities.insert([replaced, held], { epoch })
  sent.length = 0
  return [
    { ...newEntity(), version: 2, base: 0 },
    { ...replaced, base: 1, version: 2 },
    { id: held.id, base: 1 },
  ]
}

const versions = (rows: readonly BatchRow[]) => shard.entities.readVersions(rows.map(({ id }) => id))

test('a batch locks its rows, fences the epoch, writes, and verifies the session of its COMMIT', async () => {
  const rows = await someRows()
  expect(await shard.entities.writeAll(rows, { epoch })).toBe('written')
  expect(sent).toEqual(['START', 'SELECT', 'SELECT', 'SELECT', 'INSERT', 'INSERT', 'COMMIT', 'SELECT'])
  expect(await versions(rows)).toEqual([2, 2, 1])
})

test('a batch that only writes is one statement, and with local rows one packet', async () => {
  const [insertion, replaced] = await someRows()
  expect(await shard.entities.writeAll([insertion, replaced], { epoch })).toBe('written')
  expect(sent).toEqual(['INSERT'])
  const spec = { table: 'index_of_batches', columns: [{ name: 'n', type: 'integer' as const }] }
  await shard.createIndexTable(spec)
  sent.length = 0
  const { id } = replaced
  const upsert = [{ spec, rows: [{ key: [1n], entityId: id, version: 3 }] }]
  const next = {
    ...replaced,
    base: 2,
    version: 3,
    local: { upsert, remove: [{ spec, rows: [{ key: [2n] }] }] },
  }
  expect(await shard.entities.writeAll([next, { ...newEntity(), base: 0 }], { epoch })).toBe('written')
  expect(sent).toEqual(['START'])
  expect(await shard.rowsOf([spec], [id])).toMatchObject([[{ key: [1n], version: 3 }]])
})

test('a batch of a hundred rows is one statement, and a larger one inserts its rows by one', async () => {
  await someRows()
  const insertions = (count: number): readonly EntityReplace[] =>
    Array.from({ length: count }, () => ({ ...newEntity(), base: 0 }))
  expect(await shard.entities.writeAll(insertions(100), { epoch })).toBe('written')
  expect(sent).toEqual(['INSERT'])
  sent.length = 0
  expect(await shard.entities.writeAll(insertions(101), { epoch })).toBe('written')
  expect(sent).toEqual(['START', 'SELECT', 'SELECT', 'INSERT', 'COMMIT', 'SELECT'])
})

test('a batch that has lost is read under locks, sends no other write, and keeps its connection', async () => {
  const [insertion, replaced, held] = await someRows()
  const before = proxy.accepted
  const lost = [insertion, { ...replaced, base: 9 }]
  expect(await shard.entities.writeAll(lost, { epoch })).toEqual({ lost: [1] })
  expect(sent).toEqual(['INSERT', 'START', 'SELECT', 'COMMIT', 'SELECT'])
  sent.length = 0
  expect(await shard.entities.writeAll([...lost, held], { epoch })).toEqual({ lost: [1] })
  expect(sent).toEqual(['START', 'SELECT', 'SELECT', 'COMMIT', 'SELECT'])
  expect(proxy.accepted).toBe(before)
})

test('a batch of one statement whose connection is lost is OUTCOME_UNKNOWN', async () => {
  const [insertion, replaced] = await someRows()
  proxy.rewrite = (bytes) => {
    if (!bytes.includes('INSERT INTO')) return bytes
    proxy.rewrite = (later) => later
    proxy.cut()
    return Buffer.alloc(0)
  }
  await expect(shard.entities.writeAll([insertion, replaced], { epoch })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    unknownOutcome: true,
  })
  expect(await versions([insertion, replaced])).toEqual([undefined, 1])
})

describe('a batch that loses its connection', () => {
  function cutAt(part: string): void {
    proxy.rewrite = (bytes) => {
      if (!bytes.includes(part)) return bytes
      proxy.rewrite = (later) => later
      proxy.cut()
      return Buffer.alloc(0)
    }
  }

  test.each([
    'START TRANSACTION',
    'LOCK IN SHARE MODE',
    'FOR UPDATE',
    'GREATEST',
    'INSERT INTO',
    'ON DUPLICATE KEY',
  ])('a batch that loses its connection at %s writes nothing', async (part) => {
    const rows = await someRows()
    cutAt(part)
    await expect(shard.entities.writeAll(rows, { epoch })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: true,
      unknownOutcome: false,
    })
    expect(await versions(rows)).toEqual([undefined, 1, 1])
  })

  test('a batch that loses its connection before its COMMIT arrives is OUTCOME_UNKNOWN, and writes nothing', async () => {
    const rows = await someRows()
    cutAt('COMMIT')
    await expect(shard.entities.writeAll(rows, { epoch })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      unknownOutcome: true,
    })
    expect(await versions(rows)).toEqual([undefined, 1, 1])
  })

  test('a batch that loses its connection behind its COMMIT is OUTCOME_UNKNOWN, and writes all', async () => {
    const rows = await someRows()
    proxy.rewrite = (bytes) => {
      if (bytes.includes('COMMIT')) proxy.silence = 'to-client'
      return bytes
    }
    const writing = shard.entities.writeAll(rows, { epoch })
    const { shard: other } = await bench.connect()
    const ids = rows.map(({ id }) => id)
    for (let found: readonly (number | undefined)[] = []; found[0] !== 2;)
      found = await other.entities.readVersions(ids)
    proxy.silence = 'none'
    proxy.cut()
    await expect(writing).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', unknownOutcome: true })
    expect(await other.entities.readVersions(ids)).toEqual([2, 2, 1])
  })
})

test('a row that another transaction locks for too long undoes the batch', async () => {
  const rows = await someRows()
  const { shard: hasty } = await bench.connect({ lockWaitSeconds: 1 })
  const observer = await bench.observe()
  await observer.query('BEGIN')
  await observer.query('SELECT 1 FROM entities WHERE id = ? FOR UPDATE', [rows[1].id])
  await expect(hasty.entities.writeAll(rows, { epoch })).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    undone: true,
    unknownOutcome: false,
  })
  await observer.query('ROLLBACK')
  expect(await versions(rows)).toEqual([undefined, 1, 1])
})

test('a held row cannot be written between the check and the COMMIT of a batch', async () => {
  const rows = await someRows()
  const [, replaced, held] = rows
  const observer = await bench.observe()
  // Another batch waits for this lock, and holds its own row meanwhile.
  await observer.query('BEGIN')
  await observer.query('SELECT 1 FROM entities WHERE id = ? FOR UPDATE', [replaced.id])
  const writing = shard.entities.writeAll(rows, { epoch })
  await threadBusyWith(observer, 'FOR UPDATE')
  const { shard: hasty } = await bench.connect({ lockWaitSeconds: 1 })
  const write = { ...newEntity(), version: 2, id: held.id, base: 1 }
  await expect(hasty.entities.replace([write], { epoch })).rejects.toMatchObject({ undone: true })
  await observer.query('ROLLBACK')
  expect(await writing).toBe('written')
  expect(await hasty.entities.replace([write], { epoch })).toEqual([true])
})

test('an entity that another writer inserts between the check and the writes of a batch ends it, and has its place', async () => {
  const [inserted, replaced, held] = await someRows()
  const [observer, writer] = [await bench.observe(), await bench.observe()]
  await observer.query('BEGIN')
  await observer.query('SELECT 1 FROM looseleaf_meta FOR UPDATE')
  const writing = shard.entities.writeAll([held, replaced, inserted], { epoch })
  await threadBusyWith(observer, 'AS micros')
  const insert = 'INSERT INTO entities (id, updated, version, body) VALUES (?, UTC_TIMESTAMP(6), 9, NULL)'
  await writer.query(insert, [inserted.id])
  await observer.query('ROLLBACK')
  expect(await writing).toEqual({ lost: [2] })
  expect(await versions([inserted, replaced, held])).toEqual([9, 1, 1])
})

test('a batch larger than a packet is whole after a crash of its server, and one without its COMMIT is gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-batches-'))
  const start = () =>
    startServers(1, { folder, database: 'batches', serverArguments: ['--max-allowed-packet=1M'] })
  const first = await start()
  onTestFinished(async () => {
    await first.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const { shard: before } = await bench.connect({}, first.urls[0])
  await initShard(before)
  const body = randomBytes(30_000)
  const rows = Array.from({ length: 100 }, () => ({ ...newEntity(), version: 2, base: 0, body }))
  expect(await before.entities.writeAll(rows, { epoch })).toBe('written')
  const observer = await createConnection({ uri: first.urls[0]! })
  observer.on('error', () => {})
  await observer.query('BEGIN')
  await observer.query('SELECT 1 FROM looseleaf_meta FOR UPDATE')
  const unfinished = rows.map((row) => ({ ...row, base: 2, version: 3 }))
  const writing = before.entities.writeAll(unfinished, { epoch }).catch((error: unknown) => error)
  await threadBusyWith(observer, 'AS micros')
  process.kill(first.pids[0]!, 'SIGKILL')
  expect(await writing).toMatchObject({ code: 'SHARD_UNAVAILABLE', unknownOutcome: false })
  await first.stop()
  const second = await start()
  onTestFinished(() => second.stop())
  const { shard: after } = await bench.connect({}, second.urls[0])
  expect(new Set(await after.entities.readVersions(rows.map(({ id }) => id)))).toEqual(new Set([2]))
}, 60_000)
