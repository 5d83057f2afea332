import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { describe, expect, test } from 'vitest'
import { epoch, freshBench, insertLocked, newEntity, threadBusyWith, threadsAt } from '../test/bench.ts'
import { until } from '../test/until.ts'
import { mysqlShards } from './mysql-shards.ts'

const bench = await freshBench()
const { url } = bench

describe('a deadline', () => {
  test('a write at its deadline is OUTCOME_UNKNOWN, is killed on the server, and frees its place in the pool', async () => {
    const { shard } = await bench.migrate({ deadlineMs: 1_500, lockWaitSeconds: 3_600, poolSize: 1 })
    const holder = await bench.observe()
    const entity = await insertLocked(shard, holder)
    const writing = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
    await expect(writing).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      unknownOutcome: true,
      shard: shard.name,
    })
    await until(async () => (await threadsAt(holder, 'UPDATE `entities`')).length === 0)
    await holder.query('ROLLBACK')
    expect(await shard.entities.readVersions([entity.id])).toEqual([1])
  })

  test('a read at its deadline is DEADLINE', async () => {
    const { shard } = await bench.migrate({ deadlineMs: 1_500, lockWaitSeconds: 3_600, poolSize: 1 })
    const holder = await bench.observe()
    await holder.query('LOCK TABLES entities WRITE')
    await expect(shard.entities.read([randomBytes(16)])).rejects.toMatchObject({
      code: 'DEADLINE',
      retryable: true,
      unknownOutcome: false,
    })
    await until(async () => (await threadsAt(holder, 'FROM `entities`')).length === 0)
    await holder.query('UNLOCK TABLES')
    expect(await shard.entities.read([randomBytes(16)])).toEqual([undefined])
  })

  test('a call on a silent connection ends at its deadline', async () => {
    const { proxy, url: through } = await bench.behindProxy()
    const { shard } = await bench.migrate(
      { deadlineMs: 1_500, connectTimeoutMs: 1_500, poolSize: 1 },
      through,
    )
    proxy.silence = 'both'
    await expect(shard.now()).rejects.toMatchObject({ code: 'DEADLINE' })
    proxy.silence = 'none'
    expect(await shard.now()).toBeGreaterThan(0)
  })
})

describe('a lost connection', () => {
  test('a write on a lost connection is OUTCOME_UNKNOWN, and the next call gets another connection', async () => {
    const { shard } = await bench.migrate({ lockWaitSeconds: 3_600, poolSize: 1 })
    const holder = await bench.observe()
    const entity = await insertLocked(shard, holder)
    const writing = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
    const outcome = writing.catch((error: unknown) => error)
    const thread = await threadBusyWith(holder, 'UPDATE `entities`')
    await kill(holder, thread)
    expect(await outcome).toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await holder.query('ROLLBACK')
    expect(await shard.entities.replace([{ ...entity, base: 1, version: 3 }], { epoch })).toEqual([true])
  })

  test('connections that were lost while idle cost at most one read', async () => {
    const { shard } = await bench.migrate({ poolSize: 1 })
    const holder = await bench.observe()
    for (const thread of await threadsAt(holder)) await kill(holder, thread)
    await until(async () => (await threadsAt(holder)).length === 0)
    // The connection is about to end: one read may fail, and a second one may not.
    await shard.now().catch(() => {})
    expect(await shard.now()).toBeGreaterThan(0)
  })

  test('a connection that was lost while idle never gives a write a wrong outcome', async () => {
    const { shard } = await bench.migrate({ poolSize: 1 })
    const holder = await bench.observe()
    for (let round = 0; round < 20; round++) {
      for (const thread of await threadsAt(holder)) await kill(holder, thread)
      const entity = newEntity()
      const outcome = await shard.entities.insert([entity], { epoch }).then(
        () => 'done',
        (error: { code?: unknown }) => error.code,
      )
      expect(['done', 'OUTCOME_UNKNOWN', 'SHARD_UNAVAILABLE']).toContain(outcome)
      const [rows] = await holder.query<RowDataPacket[]>('SELECT version FROM entities WHERE id = ?', [
        entity.id,
      ])
      if (outcome !== 'OUTCOME_UNKNOWN') expect(rows).toHaveLength(outcome === 'done' ? 1 : 0)
    }
  })
})

/** A thread that has ended since it was listed counts as killed. */
async function kill(holder: Connection, thread: number): Promise<void> {
  await holder.query(`KILL ${thread}`).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'ER_NO_SUCH_THREAD') throw error
  })
}

describe('locks of others', () => {
  test('a write that waits too long for a lock is SHARD_BUSY, and changes nothing', async () => {
    const { shard } = await bench.migrate({ lockWaitSeconds: 1 })
    const holder = await bench.observe()
    const entity = await insertLocked(shard, holder)
    await expect(
      shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch }),
    ).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      retryable: true,
      unknownOutcome: false,
    })
    await holder.query('ROLLBACK')
    expect(await shard.entities.readVersions([entity.id])).toEqual([1])
  })

  test('a change of the catalog waits for a write in flight', async () => {
    const { shard } = await bench.migrate({ lockWaitSeconds: 1 })
    const catalog = (await shard.catalog.load()) as NonNullable<
      Awaited<ReturnType<typeof shard.catalog.load>>
    >
    const writer = await bench.observe()
    await writer.query('START TRANSACTION')
    // A lock on the epoch, as an insert takes it, in an open transaction.
    await writer.query(
      'INSERT INTO entities (id, updated, version) VALUES (?, UTC_TIMESTAMP(6), (SELECT 1 FROM looseleaf_meta WHERE id = 1 AND epoch = 1 LOCK IN SHARE MODE))',
      [randomBytes(16)],
    )
    const next = { ...catalog, epoch: 2 }
    await expect(shard.catalog.change(next, 1)).rejects.toMatchObject({ code: 'SHARD_BUSY' })
    const changing = shard.catalog.change(next, 1)
    await writer.query('COMMIT')
    expect(await changing).toBe(true)
    expect(await shard.catalog.change(catalog, 2)).toBe(true)
  })

  test('every kind of write waits for a change of the catalog in flight', async () => {
    const { shard } = await bench.migrate({ lockWaitSeconds: 1 })
    const entities = [newEntity(), newEntity()]
    await shard.entities.insert(entities, { epoch })
    const rows = entities.map((entity) => ({ ...entity, base: 1, version: 2 }))
    const changer = await bench.observe()
    await changer.query('START TRANSACTION')
    await changer.query('UPDATE looseleaf_meta SET epoch = 2 WHERE id = 1')
    const writes = await Promise.allSettled([
      shard.entities.insert([newEntity()], { epoch }),
      shard.entities.insert([newEntity(), newEntity()], { epoch }),
      shard.entities.replace(rows.slice(1), { epoch }),
      shard.entities.replace(rows, { epoch }),
    ])
    await changer.query('ROLLBACK')
    for (const write of writes) {
      expect(write).toMatchObject({
        status: 'rejected',
        reason: { code: 'SHARD_BUSY', unknownOutcome: false },
      })
    }
    expect(await shard.entities.readVersions(entities.map(({ id }) => id))).toEqual([1, 1])
  })

  test('a drop that waits for a reader does not block other readers for long', async () => {
    const { shard } = await bench.migrate({ lockWaitSeconds: 1 })
    const { shard: other } = await bench.migrate({ lockWaitSeconds: 30 })
    const spec = { table: 'ix_dropped', columns: [{ name: 'n', type: 'integer' }] } as const
    await shard.createIndexTable(spec)
    const reader = await bench.observe()
    await reader.query('START TRANSACTION')
    await reader.query('SELECT * FROM ix_dropped')
    const dropping = shard.dropIndexTable(spec)
    await threadBusyWith(reader, 'DROP TABLE')
    // This read waits behind the drop, and no longer than the drop does.
    expect(await other.index(spec).count({ prefix: [] })).toBe(0)
    await reader.query('COMMIT')
    await dropping
    await expect(shard.index(spec).count({ prefix: [] })).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
  })
})

describe('a signal', () => {
  test('a signal ends the wait for a write that was sent, and its connection stays usable', async () => {
    const { shard } = await bench.migrate({ poolSize: 1, lockWaitSeconds: 3_600 })
    const holder = await bench.observe()
    const entity = await insertLocked(shard, holder)
    const controller = new AbortController()
    const writing = shard.entities.replace([{ ...entity, base: 1, version: 2 }], {
      epoch,
      signal: controller.signal,
    })
    await threadBusyWith(holder, 'UPDATE `entities`')
    controller.abort()
    await expect(writing).rejects.toMatchObject({ code: 'ABORTED' })
    await holder.query('ROLLBACK')
    expect(await shard.entities.readVersions([entity.id])).toEqual([2])
  })

  test('a signal keeps a waiting write from being sent', async () => {
    const { shard } = await bench.migrate({ poolSize: 1, lockWaitSeconds: 3_600 })
    const holder = await bench.observe()
    const entity = await insertLocked(shard, holder)
    const first = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
    const controller = new AbortController()
    const unsent = newEntity()
    const waiting = shard.entities.insert([unsent], { epoch: 1, signal: controller.signal })
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
    await holder.query('ROLLBACK')
    expect(await first).toEqual([true])
    expect(await shard.entities.readVersions([unsent.id])).toEqual([undefined])
  })
})

describe('a server that refuses', () => {
  test('a wrong password or database is SHARD_DENIED, and no error shows the password', async () => {
    const wrongPassword = new URL(url)
    wrongPassword.password = 'hush-hush'
    wrongPassword.username = 'nobody_of_this_name'
    const wrongDatabase = new URL(url)
    wrongDatabase.pathname = '/no_such_database_here'
    for (const { href } of [wrongPassword, wrongDatabase]) {
      const error: unknown = await mysqlShards([href])
        .connect()
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'SHARD_DENIED', retryable: false })
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/hush-hush/)
    }
  })

  test('a value that is too long changes nothing, since the session is strict', async () => {
    const { shard } = await bench.migrate()
    const spec = { table: 'ix_strict', columns: [{ name: 's', type: 'string' }] } as const
    await shard.createIndexTable(spec)
    const row = { key: [Buffer.alloc(545, 97)], entityId: randomBytes(16), version: 1 }
    await expect(shard.index(spec).upsert([row])).rejects.toMatchObject({ code: 'STATEMENT_FAILED' })
    expect(await shard.index(spec).count({ prefix: [] })).toBe(0)
  })

  test('an index with a key that is too long is BAD_INDEX', async () => {
    const { shard } = await bench.migrate()
    const columns = Array.from({ length: 6 }, (_, i) => ({ name: `s${i}`, type: 'string' as const }))
    await expect(shard.createIndexTable({ table: 'ix_long', columns })).rejects.toMatchObject({
      code: 'BAD_INDEX',
    })
  })
})

test('an inspection of an open driver does not show the password', async () => {
  const { driver } = await bench.migrate()
  const password = decodeURIComponent(new URL(url).password)
  const seen = inspect(driver, { depth: 20, showHidden: true }) + JSON.stringify(driver)
  expect(seen).not.toContain(url)
  if (password !== '') expect(seen).not.toContain(password)
})

test('prepared statements of large writes do not accumulate on the server', async () => {
  const { shard } = await bench.migrate({ poolSize: 1 })
  const watcher = await bench.observe()
  const prepared = async (): Promise<number> => {
    const [rows] = await watcher.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
    return Number(rows[0]?.Value)
  }
  const before = await prepared()
  for (let count = 1; count <= 300; count++) {
    await shard.entities.insert(
      Array.from({ length: count }, () => ({
        ...newEntity(),
        body: Buffer.alloc(Math.ceil(66_000 / count) + 1),
      })),
      { epoch },
    )
  }
  // Other tests use the server as well. Without a limit there would be 300 more.
  expect((await prepared()) - before).toBeLessThan(200)
})
