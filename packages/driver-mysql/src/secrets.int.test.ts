import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { isLooseleafError, type LooseleafError, type Shard } from '@looseleaf/core'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLimitedUser } from '../test/limited-user.ts'
import { startTcpProxy } from '../test/tcp-proxy.ts'
import { connectShard } from './connect-shard.ts'
import { mysqlShards, type MysqlShardsOptions } from './mysql-shards.ts'
import { parseTarget } from './target.ts'

const { urls } = await freshShards(1)
const adminUrl = urls[0] as string
const limited = await createLimitedUser(adminUrl, 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX')
const { password } = new URL(limited.url)

/** Looks like something that must not be seen, as text and as the statements write it. */
const SECRET = 'my-secret-diary'
const hex = Buffer.from(SECRET).toString('hex')

const cleanUps: (() => Promise<unknown>)[] = []
const written: string[] = []

beforeEach(() => {
  written.length = 0
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    vi.spyOn(console, method).mockImplementation((...parts) => void written.push(parts.map(String).join(' ')))
  }
})

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
  vi.restoreAllMocks()
})

afterAll(() => limited.drop())

async function connect(options: MysqlShardsOptions = {}, url = limited.url): Promise<Shard> {
  const driver = await mysqlShards([url], options).connect()
  cleanUps.push(() => driver.close())
  const shard = driver.shards[0] as Shard
  await shard.createTables()
  await shard.catalog.init({
    epoch: 1,
    storeId: 's',
    shardNumber: 0,
    shardCount: 1,
    router: 'r',
    indexes: [],
  })
  return shard
}

const spec = { table: 'ix_diary', columns: [{ name: 's', type: 'string' }] } as const
const newEntity = () => ({ id: randomBytes(16), version: 1, body: Buffer.from(SECRET) })
const secretRow = (length = SECRET.length) => ({
  key: [Buffer.from(SECRET.padEnd(length, 'x'))],
  entityId: randomBytes(16),
  version: 1,
})

/** A statement that waits for as long as somebody else holds the row. */
async function blockedReplace(
  shard: Shard,
): Promise<{ result: Promise<unknown>; thread(): Promise<number> }> {
  const entity = newEntity()
  await shard.entities.insert([entity], { epoch: 1 })
  const holder = await createConnection(adminUrl)
  cleanUps.push(async () => holder.destroy())
  await holder.query('START TRANSACTION')
  await holder.query('SELECT id FROM entities WHERE id = ? FOR UPDATE', [entity.id])
  return {
    result: shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch: 1 }),
    async thread() {
      for (;;) {
        const [rows] = await holder.query(
          "SELECT id AS n FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE%'",
        )
        const [row] = rows as { n: number }[]
        if (row !== undefined) return row.n
      }
    },
  }
}

async function admin(statement: string): Promise<void> {
  const connection = await createConnection(adminUrl)
  await connection.query(statement).finally(() => connection.end())
}

/** Each provokes one error of a real server, with secrets in its values, its statement and its password. */
const provocations: Readonly<Record<string, () => Promise<unknown>>> = {
  'BAD_OPTION, a value that is too long': async () => {
    const shard = await connect()
    await shard.createIndexTable(spec)
    return shard.index(spec).upsert([secretRow(600)])
  },
  'INDEX_NOT_FOUND, a missing table': async () =>
    (await connect()).index({ ...spec, table: 'ix_missing' }).upsert([secretRow()]),
  'ALREADY_EXISTS, a duplicate': async () => {
    const shard = await connect()
    const entity = newEntity()
    await shard.entities.insert([entity], { epoch: 1 })
    return shard.entities.insert([entity], { epoch: 1 })
  },
  'SHARD_BUSY, a lock that is not given': async () =>
    (await blockedReplace(await connect({ lockWaitSeconds: 1 }))).result,
  'OUTCOME_UNKNOWN, a deadline': async () =>
    (await blockedReplace(await connect({ lockWaitSeconds: 3_600, deadlineMs: 500 }))).result,
  'OUTCOME_UNKNOWN, a killed connection': async () => {
    const { result, thread } = await blockedReplace(await connect({ lockWaitSeconds: 3_600 }))
    const [ended] = await Promise.allSettled([result, thread().then((id) => admin(`KILL ${id}`))])
    throw (ended as PromiseRejectedResult).reason
  },
  'OUTCOME_UNKNOWN, a killed statement': async () => {
    const { result, thread } = await blockedReplace(await connect({ lockWaitSeconds: 3_600 }))
    const [ended] = await Promise.allSettled([result, thread().then((id) => admin(`KILL QUERY ${id}`))])
    throw (ended as PromiseRejectedResult).reason
  },
  'SHARD_DENIED, a wrong password': () =>
    mysqlShards([limited.url.replace(password, `${password}${SECRET}`)]).connect(),
  'SHARD_DENIED, a database of another': () =>
    mysqlShards([limited.url.replace(/[^/]+$/, 'somebody_else')]).connect(),
  'SHARD_DENIED, a privilege that is missing': async () => {
    const reader = await createLimitedUser(adminUrl, 'SELECT')
    cleanUps.push(() => reader.drop())
    await connect()
    const driver = await mysqlShards([reader.url]).connect()
    cleanUps.push(() => driver.close())
    return (driver.shards[0] as Shard).entities.insert([newEntity()], { epoch: 1 })
  },
  'SHARD_UNAVAILABLE, nobody who listens': () =>
    mysqlShards([`mysql://u:${SECRET}@127.0.0.1:1/feed`]).connect(),
  'SHARD_UNAVAILABLE, a name that nobody knows': () =>
    mysqlShards([`mysql://u:${SECRET}@nobody.invalid/feed`]).connect(),
  'SHARD_DENIED, no encryption': () => mysqlShards([limited.url], { tls: { ca: SECRET } }).connect(),
  'OUTCOME_UNKNOWN, a connection that breaks': async () => {
    const target = new URL(limited.url)
    const proxy = await startTcpProxy(Number(target.port))
    cleanUps.push(() => proxy.close())
    target.port = String(proxy.port)
    const { result, thread } = await blockedReplace(await connect({ lockWaitSeconds: 3_600 }, target.href))
    const [ended] = await Promise.allSettled([result, thread().then(() => proxy.cut())])
    throw (ended as PromiseRejectedResult).reason
  },
  'BODY_TOO_LARGE, a statement beyond max_allowed_packet': async () => {
    const body = Buffer.concat([Buffer.from(SECRET), Buffer.alloc(80 * 1024 * 1024)])
    return (await connect()).entities.insert([{ ...newEntity(), body }], { epoch: 1 })
  },
  'BAD_OPTION, a parameter of no type': async () =>
    (await connect()).index(spec).upsert([{ ...secretRow(), key: [{ SECRET } as never] }]),
  'BAD_OPTION, a URL that is none': async () => mysqlShards([`mysql:/${SECRET}:${password}`]),
}

function everythingOf(value: unknown): string {
  const shown = [inspect(value, { depth: Infinity, showHidden: true }), String(value)]
  for (let error = value; error instanceof Error; error = error.cause) {
    shown.push(
      error.message,
      String(error.stack),
      JSON.stringify(error),
      inspect(error, { showHidden: true }),
    )
  }
  return [...shown, ...written].join('\n')
}

const secrets = new RegExp(
  `${SECRET}|${hex}|${password}|INSERT INTO|UPDATE \\(|STRAIGHT_JOIN|SELECT |x'[0-9a-f]`,
  'i',
)

describe('neither values nor statements nor the password are in', () => {
  test.each(Object.entries(provocations))('%s', async (name, provoke) => {
    const error: unknown = await provoke().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(isLooseleafError(error)).toBe(true)
    expect(name).toContain((error as LooseleafError).code)
    expect(everythingOf(error)).not.toMatch(secrets)
  })

  test('the driver, its shards, its pools and connections', async () => {
    const factory = mysqlShards([limited.url], { tls: false })
    const driver = await factory.connect()
    const target = parseTarget(limited.url, 0, undefined)
    const pool = connectShard(target, {
      poolSize: 1,
      maxQueue: 1,
      deadlineMs: 10_000,
      connectTimeoutMs: 10_000,
      lockWaitSeconds: 3,
      idleMs: 1_000,
      breakerFailures: 1,
      breakerProbeMs: 1_000,
    })
    const connection = await pool.acquire()
    const seen = [factory, driver, driver.shards, target, pool, connection].map((one) => everythingOf(one))
    pool.release(connection)
    await pool.close()
    await driver.close()
    expect(seen.join('\n')).not.toContain(password)
  })
})
