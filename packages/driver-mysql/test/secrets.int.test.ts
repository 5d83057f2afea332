import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { isLooseleafError, type LooseleafError, type Shard } from '@looseleaf/core'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  cleanUp,
  epoch,
  freshBench,
  insertLocked,
  newEntity,
  settings,
  threadBusyWith,
  type NewEntity,
} from './bench.ts'
import { createLimitedUser } from '@looseleaf-tooling/vitest/limited-user'
import { parseShardAddress } from '../src/connection/shard-address.ts'
import { mysqlShards, type MysqlShardsOptions } from '../src/mysql-shards.ts'
import { connectShard } from '../src/shard/connect-shard.ts'

const bench = await freshBench()
const limited = await createLimitedUser(bench.url, 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX')
const { password } = new URL(limited.url)

/** A value that must not be visible, as text and in the form of statements. */
const SECRET = 'my-secret-diary'
const hex = Buffer.from(SECRET).toString('hex')

const written: string[] = []

beforeEach(() => {
  written.length = 0
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    vi.spyOn(console, method).mockImplementation((...parts) => void written.push(parts.map(String).join(' ')))
  }
})

afterEach(() => {
  vi.restoreAllMocks()
})

afterAll(() => limited.drop())

async function connect(options: MysqlShardsOptions = {}, url = limited.url): Promise<Shard> {
  return (await bench.migrate(options, url)).shard
}

const spec = { table: 'ix_diary', columns: [{ name: 's', type: 'string' }] } as const
const secretEntity = (): NewEntity => newEntity(SECRET)
const secretRow = (length = SECRET.length) => ({
  key: [Buffer.from(SECRET.padEnd(length, 'x'))],
  entityId: randomBytes(16),
  version: 1,
})

/** Runs a statement that waits for a row lock; `interrupt` acts on its thread. */
async function blockedReplace(
  shard: Shard,
  interrupt?: (thread: number) => Promise<unknown> | void,
): Promise<unknown> {
  const holder = await bench.observe()
  const entity = await insertLocked(shard, holder, secretEntity())
  const result = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  const interrupted = interrupt === undefined ? undefined : threadBusyWith(holder, 'UPDATE').then(interrupt)
  const [ended] = await Promise.allSettled([result, interrupted])
  throw (ended as PromiseRejectedResult).reason
}

async function admin(statement: string): Promise<void> {
  await (await bench.observe()).query(statement)
}

/** Cases that provoke an error of a real server, with secrets in the values, the statement and the password. */
const provocations: Readonly<Record<string, () => Promise<unknown>>> = {
  'STATEMENT_FAILED, a value that is too long': async () => {
    const shard = await connect()
    await shard.createIndexTable(spec)
    return shard.index(spec).upsert([secretRow(600)])
  },
  'INDEX_NOT_FOUND, a missing table': async () =>
    (await connect()).index({ ...spec, table: 'ix_missing' }).upsert([secretRow()]),
  'ALREADY_EXISTS, a duplicate': async () => {
    const shard = await connect()
    const entity = secretEntity()
    await shard.entities.insert([entity], { epoch })
    return shard.entities.insert([entity], { epoch })
  },
  'SHARD_BUSY, a lock wait that times out': async () => blockedReplace(await connect({ lockWaitSeconds: 1 })),
  'OUTCOME_UNKNOWN, a deadline': async () =>
    blockedReplace(await connect({ lockWaitSeconds: 3_600, deadlineMs: 500 })),
  'OUTCOME_UNKNOWN, a killed connection': async () =>
    blockedReplace(await connect({ lockWaitSeconds: 3_600 }), (thread) => admin(`KILL ${thread}`)),
  'OUTCOME_UNKNOWN, a killed statement': async () =>
    blockedReplace(await connect({ lockWaitSeconds: 3_600 }), (thread) => admin(`KILL QUERY ${thread}`)),
  'SHARD_DENIED, a wrong password': () =>
    mysqlShards([limited.url.replace(password, `${password}${SECRET}`)]).connect(),
  'SHARD_DENIED, a database of another user': () =>
    mysqlShards([limited.url.replace(/[^/]+$/, 'somebody_else')]).connect(),
  'SHARD_DENIED, a missing privilege': async () => {
    const reader = await createLimitedUser(bench.url, 'SELECT')
    cleanUp(() => reader.drop())
    await connect()
    const { shard } = await bench.connect({}, reader.url)
    return shard.entities.insert([secretEntity()], { epoch })
  },
  'SHARD_UNAVAILABLE, a port without a server': () =>
    mysqlShards([`mysql://u:${SECRET}@127.0.0.1:1/feed`]).connect(),
  'SHARD_UNAVAILABLE, an unknown host name': () =>
    mysqlShards([`mysql://u:${SECRET}@nobody.invalid/feed`]).connect(),
  'SHARD_DENIED, no encryption': () => mysqlShards([limited.url], { tls: { ca: SECRET } }).connect(),
  'OUTCOME_UNKNOWN, a connection that breaks': async () => {
    const { proxy, url } = await bench.behindProxy(limited.url)
    return blockedReplace(await connect({ lockWaitSeconds: 3_600 }, url), () => proxy.cut())
  },
  'BODY_TOO_LARGE, a statement beyond max_allowed_packet': async () => {
    const body = Buffer.concat([Buffer.from(SECRET), Buffer.alloc(80 * 1024 * 1024)])
    return (await connect()).entities.insert([{ ...secretEntity(), body }], { epoch })
  },
  'BAD_OPTION, an invalid parameter': async () =>
    (await connect()).index(spec).upsert([{ ...secretRow(), key: [{ SECRET } as never] }]),
  'BAD_OPTION, an invalid URL': async () => mysqlShards([`mysql:/${SECRET}:${password}`]),
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
  `${SECRET}|${hex}|${password}|INSERT INTO|UPDATE .entities|STRAIGHT_JOIN|SELECT |x'[0-9a-f]`,
  'i',
)

describe('values, statements and passwords', () => {
  test.each(Object.entries(provocations))('an error contains none of them: %s', async (name, provoke) => {
    const error: unknown = await provoke().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(isLooseleafError(error)).toBe(true)
    expect(name).toContain((error as LooseleafError).code)
    expect(everythingOf(error)).not.toMatch(secrets)
  })

  test('an inspection of a driver, its shards, pools and connections contains no password', async () => {
    const factory = mysqlShards([limited.url], { tls: false })
    const driver = await factory.connect()
    const address = parseShardAddress(limited.url, 'MySQL shard 0', undefined)
    const pool = connectShard(address, settings)
    const connection = await pool.acquire()
    const seen = [factory, driver, driver.shards, address, pool, connection].map((object) =>
      everythingOf(object),
    )
    pool.release(connection)
    await pool.close()
    await driver.close()
    expect(seen.join('\n')).not.toContain(password)
  })
})
