import { randomUUID } from 'node:crypto'
import type { LooseleafError, Shard } from '@looseleaf/core'
import { describe, expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, newEntity } from '../../test/bench.ts'
import { startSessionPooler, type PacketRoute, type SessionPooler } from '../../test/session-pooler.ts'
import { undone } from '../../test/undone.ts'
import { until } from '../../test/until.ts'
import { MAX_NAMED } from '../kysely/batched-swap.ts'
import type { MysqlShardsOptions } from '../mysql-shards.ts'

const bench = await freshBench()

const NOT_STRICT = "SET SESSION sql_mode = ''"

/** Bodies that are sent with prepared statements, and as text. */
const bodies = { text: Buffer.from('small'), prepared: Buffer.alloc(70_000, 'large ') }

async function withPooler(
  sessions: number,
  options: MysqlShardsOptions = {},
  packets: PacketRoute = 'whole',
): Promise<{ readonly pooler: SessionPooler; readonly shard: Shard; readonly direct: Shard }> {
  const { shard: direct } = await bench.migrate()
  const pooler = await startSessionPooler(bench.url, { sessions, setUp: NOT_STRICT, packets })
  cleanUp(() => pooler.close())
  const { shard } = await bench.connect(options, pooler.url)
  return { pooler, shard, direct }
}

const otherSession = (found: RegExp, unknownOutcome: boolean) => ({
  code: 'STATEMENT_FAILED',
  retryable: false,
  unknownOutcome,
  message: expect.stringMatching(
    new RegExp(`not the one that was set up for this connection: ${found.source}.*keep one session`),
  ),
})

const modes = ['', 'ANSI', 'NO_UNSIGNED_SUBTRACTION', 'TRADITIONAL', 'NO_BACKSLASH_ESCAPES']

describe.each(Object.entries(bodies))('the epoch fence with %s bodies', (_, body) => {
  test.each(modes)(
    'a write with a stale epoch changes nothing after sql_mode was set to %j',
    async (mode) => {
      const { pooler, shard, direct } = await withPooler(1, { poolSize: 1 })
      await pooler.tell(0, `SET SESSION sql_mode = '${mode}'`)
      // Greater than 32 bits hold.
      const version = 1_795_000_000_123_456
      const entities = [newEntity(), newEntity()].map((entity) => ({ ...entity, version, body }))
      const ids = entities.map(({ id }) => id)
      for (const wrong of [epoch - 1, epoch + 1]) {
        for (const rows of [entities, entities.slice(1)]) {
          await expect(shard.entities.insert(rows, { epoch: wrong })).rejects.toMatchObject({
            code: 'STALE_EPOCH',
          })
        }
      }
      expect(await direct.entities.readVersions(ids)).toEqual([undefined, undefined])
      await shard.entities.insert(entities, { epoch })
      expect(await direct.entities.readVersions(ids)).toEqual([version, version])
      const next = entities.map((entity) => ({ ...entity, base: version, version: version + 1 }))
      for (const rows of [next, next.slice(1)]) {
        await expect(shard.entities.replace(rows, { epoch: epoch - 1 })).rejects.toMatchObject({
          code: 'STALE_EPOCH',
        })
      }
      const updated = (await direct.entities.floor()).floor
      for (const rows of [entities, entities.slice(1)]) {
        await expect(shard.entities.receive(rows, { epoch: epoch - 1, updated })).rejects.toMatchObject({
          code: 'STALE_EPOCH',
        })
      }
      await shard.entities.receive(entities, { epoch, updated })
      expect(await shard.entities.replace(next, { epoch })).toEqual([true, true])
      expect(await direct.entities.read(ids)).toMatchObject([
        { version: version + 1, body },
        { version: version + 1, body },
      ])
    },
  )

  test('a write in another session changes nothing, and its connection is closed', async () => {
    const { pooler, shard, direct } = await withPooler(2, { poolSize: 1 })
    const [a, b, c] = [newEntity(), newEntity(), newEntity()]
    const x = { ...a, body, base: 1, version: 2 }
    const y = { ...b, body, base: 1, version: 2 }
    const z = { ...c, body }
    await direct.entities.insert([a, b], { epoch })
    const writes = [
      () => shard.entities.insert([z], { epoch }),
      () => shard.entities.insert([z, newEntity()], { epoch }),
      () => shard.entities.insert([{ ...z, deferred: ['index_a'] }], { epoch }),
      () => shard.entities.replace([x], { epoch }),
      () => shard.entities.replace([x, y], { epoch }),
      () => shard.entities.receive([y, z], { epoch, updated: 0 }),
      () => shard.entities.discard([x.id], { epoch }),
      () => shard.pending.add([{ entityId: x.id, table: 'index_a', version: 1 }], { epoch }),
    ]
    for (const write of writes) {
      const { route } = pooler
      expect(await shard.now()).toBeGreaterThan(0)
      pooler.route = (command) => route(command) + 1
      await expect(write()).rejects.toMatchObject(otherSession(/its variable @looseleaf/, false))
      pooler.route = route
      // A transaction that began there would stay open.
      for (const session of [0, 1]) await pooler.tell(session, 'ROLLBACK')
    }
    expect(await direct.entities.readVersions([a.id, b.id, c.id])).toEqual([1, 1, undefined])
    expect(await direct.pending.tables()).toEqual([])
    // A new connection takes its place.
    await shard.entities.insert([c], { epoch })
    expect(await direct.entities.readVersions([c.id])).toEqual([1])
  })
})

describe('a session that another client has changed', () => {
  test.each([
    ['has turned autocommit off', 'SET autocommit = 0', /autocommit is off/],
    [
      'has begun a transaction',
      'START TRANSACTION',
      /a transaction is open that this connection did not begin/,
    ],
  ])('a session that %s acknowledges no write and no read', async (_, statement, found) => {
    const { pooler, shard, direct } = await withPooler(1, { poolSize: 1 })
    const spec = { table: 'ix_mixed', columns: [{ name: 'n', type: 'integer' }] } as const
    await direct.createIndexTable(spec)
    const entity = newEntity()
    await direct.entities.insert([entity], { epoch })
    const before = await direct.entities.count()
    const calls: [call: () => Promise<unknown>, writes: boolean][] = [
      [() => shard.entities.insert([newEntity()], { epoch }), true],
      [() => shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch }), true],
      [() => shard.entities.receive([{ ...entity, version: 2 }], { epoch, updated: 0 }), true],
      [() => shard.entities.discard([entity.id], { epoch }), true],
      [() => shard.pending.add([{ entityId: entity.id, table: spec.table, version: 1 }], { epoch }), true],
      [() => shard.index(spec).upsert([{ key: [1n], entityId: entity.id, version: 1 }]), true],
      [() => shard.entities.read([entity.id]), false],
      // An answer without rows has the status as well.
      [() => shard.entities.read([newEntity().id]), false],
      [() => shard.entities.pageByAdded(0, 1_000), false],
      [() => shard.catalog.load(), false],
    ]
    for (const [call, writes] of calls) {
      expect(await shard.now()).toBeGreaterThan(0)
      await pooler.tell(0, statement)
      await expect(call()).rejects.toMatchObject(otherSession(found, writes))
      await pooler.tell(0, 'ROLLBACK')
      await pooler.tell(0, 'SET autocommit = 1')
    }
    expect(await direct.entities.readVersions([entity.id])).toEqual([1])
    expect(await direct.entities.count()).toEqual(before)
    expect(await direct.pending.tables()).toEqual([])
  })

  test('a session with an open transaction is not used for a new connection', async () => {
    const { pooler } = await withPooler(2)
    await pooler.tell(1, 'START TRANSACTION')
    await expect(bench.connect({}, pooler.url)).rejects.toMatchObject(
      otherSession(/a transaction is open that this connection did not begin/, false),
    )
  })

  test('a session without the token fails the next read within seconds', async () => {
    const { pooler, shard } = await withPooler(1, { poolSize: 1 })
    expect(await shard.now()).toBeGreaterThan(0)
    await pooler.tell(0, 'SET @looseleaf = NULL')
    const error = await until(() =>
      shard.now().then(
        () => undefined,
        (reason: unknown) => reason,
      ),
    )
    expect(error).toMatchObject(otherSession(/its variable @looseleaf/, false))
  })
})

describe('a transaction whose statement reaches another session', () => {
  const steps = {
    'its START': /^START/,
    'its first write': /^\s*(INSERT INTO `looseleaf_pending`|UPDATE `entities` e )/,
    'its last write': /^\s*(INSERT INTO `entities`|UPDATE `entities` e (?!.*UNION ALL\s+SELECT CAST))/s,
    'its COMMIT': /^COMMIT/,
    'the proof of its COMMIT': /^SELECT 18446744073709551615/,
  }
  const local = { table: 'ix_local', columns: [{ name: 'n', type: 'integer' }] } as const
  const states = {
    'is idle': 'SET autocommit = 1',
    'is in a transaction': 'START TRANSACTION',
    'has autocommit off': 'SET autocommit = 0',
  }
  /** How a pooler has the statements one by one: it takes packets apart, or the driver sends none after it has refused one. */
  const routes = { 'takes packets apart': 'apart', 'refuses packets': 'refused' } as const
  const cases = Object.entries(routes).flatMap(([pooler, packets]) =>
    Object.entries(steps).flatMap(([step, statement]) =>
      Object.entries(states).map(
        ([state, setUp]) => [pooler, step, state, packets, statement, setUp] as const,
      ),
    ),
  )

  /** Sends the next matching statement to session 1, in which `setUp` was run, and all others to that of the connection. */
  async function stray(pooler: SessionPooler, statement: RegExp, setUp: string): Promise<void> {
    await pooler.tell(1, setUp)
    pooler.route = ({ text }) => {
      if (!statement.test(text)) return 0
      pooler.route = () => 0
      return 1
    }
  }

  test.each(cases)(
    'an insert with pending and local rows behind a pooler that %s is not acknowledged if %s reaches a session that %s',
    async (_, _step, _state, packets, ...how) => {
      const { pooler, shard, direct } = await withPooler(2, { poolSize: 1 }, packets)
      const table = `index_${randomUUID()}`
      await direct.createIndexTable(local)
      const fresh = newEntity()
      const row = { key: [1n], entityId: fresh.id, version: fresh.version }
      const entity = { ...fresh, deferred: [table], local: { upsert: [{ spec: local, rows: [row] }] } }
      await stray(pooler, ...how)
      const error: unknown = await shard.entities
        .insert([entity], { epoch })
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'STATEMENT_FAILED', retryable: false })
      await pooler.close()
      // The server undoes what these sessions have not committed.
      await undone(await bench.observe())
      const [version] = await direct.entities.readVersions([entity.id])
      if (!(error as LooseleafError).unknownOutcome) expect(version).toBeUndefined()
      if (version === undefined) return
      expect(await direct.pending.tables()).toContain(table)
      expect(await direct.rowsOf([local], [entity.id])).toMatchObject([[row]])
    },
  )

  test.each(cases)(
    'a batch of swaps behind a pooler that %s is not acknowledged if %s reaches a session that %s',
    async (_, _step, _state, packets, ...how) => {
      const { pooler, shard, direct } = await withPooler(2, { poolSize: 1 }, packets)
      // More rows than an answer can name, so that it is a transaction; one of them loses.
      const entities = Array.from({ length: MAX_NAMED + 1 }, newEntity)
      await direct.entities.insert(entities, { epoch })
      const swaps = entities.map((entity, i) => ({ ...entity, base: i === 1 ? 2 : 1, version: 3 }))
      await stray(pooler, ...how)
      const error: unknown = await shard.entities.replace(swaps, { epoch }).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'STATEMENT_FAILED', retryable: false })
      await pooler.close()
      await undone(await bench.observe())
      const versions = await direct.entities.readVersions(entities.map(({ id }) => id))
      if (!(error as LooseleafError).unknownOutcome) expect(versions).toEqual(entities.map(() => 1))
    },
  )

  const ofTake = {
    'its START': /^START/,
    'its INSERT': /^\s*INSERT INTO `ix_taken_/,
    'its SELECT': /^\s*SELECT .* FROM `ix_taken_/,
    'its COMMIT': /^COMMIT/,
  }
  const takeCases = Object.entries(ofTake).flatMap(([step, statement]) =>
    Object.entries(states).map(([state, setUp]) => [step, state, statement, setUp] as const),
  )

  test.each(takeCases)(
    'a take of claims is not acknowledged if %s reaches a session that %s',
    async (_, _state, ...how) => {
      const { pooler, shard, direct } = await withPooler(2, { poolSize: 1 })
      const table = `ix_taken_${randomUUID().replaceAll('-', '')}`
      const spec = { table, columns: [{ name: 'n', type: 'integer' }], unique: true } as const
      await direct.createIndexTable(spec)
      const rows = [1n, 2n].map((n) => ({ key: [n], entityId: newEntity().id, version: 1 }))
      await stray(pooler, ...how)
      const error: unknown = await shard
        .claims(spec)
        .take(rows)
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'STATEMENT_FAILED', retryable: false })
      await pooler.close()
      await undone(await bench.observe())
      if (!(error as LooseleafError).unknownOutcome)
        expect(await direct.index(spec).count({ prefix: [] })).toBe(0)
    },
  )
})

test.each(['whole', 'apart', 'refused'] as const)(
  'a failed transaction does not roll back that of another client, with packets %s',
  async (packets) => {
    const { pooler, shard, direct } = await withPooler(2, { poolSize: 1 }, packets)
    const entity = newEntity()
    await direct.entities.insert([entity], { epoch })
    const table = `index_${randomUUID()}`
    await pooler.tell(1, 'START TRANSACTION')
    await pooler.tell(1, `INSERT INTO looseleaf_pending VALUES (REPEAT('a', 16), '${table}', 1)`)
    pooler.route = ({ text }) => (text.startsWith('ROLLBACK') ? 1 : 0)
    const again = shard.entities.insert([{ ...entity, deferred: [table] }], { epoch })
    await expect(again).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    await pooler.tell(1, 'COMMIT')
    expect(await direct.pending.tables()).toContain(table)
  },
)
