import { randomBytes } from 'node:crypto'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import type { Driver, DriverFactory, Shard } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { onTestFinished } from 'vitest'
import { mysqlShards, tunedMysqlShards, type MysqlShardsOptions } from '../src/mysql-shards.ts'
import type { ShardSettings, ShardTuning } from '../src/shard/connect-shard.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { until } from './until.ts'

export interface OpenShard {
  readonly driver: Driver
  readonly shard: Shard
}

export type BenchOptions = MysqlShardsOptions & Partial<ShardTuning>

/** Describes shards, by options and tuning in one object. */
export function describeTuned(
  shards: Parameters<typeof mysqlShards>[0],
  { maxQueue, breakerFailures, breakerProbeMs, readOnlyMs, ...options }: BenchOptions,
): DriverFactory {
  return tunedMysqlShards(shards, options, {
    ...(maxQueue !== undefined && { maxQueue }),
    ...(breakerFailures !== undefined && { breakerFailures }),
    ...(breakerProbeMs !== undefined && { breakerProbeMs }),
    ...(readOnlyMs !== undefined && { readOnlyMs }),
  })
}

/** An empty database on a real server. Its drivers, connections and proxies are closed after the test. */
export interface Bench {
  readonly url: string
  /** Connects a driver of one shard, to another address if one is given. */
  connect(options?: BenchOptions, at?: string): Promise<OpenShard>
  /** Connects, and creates the tables and a catalog of epoch 1. */
  migrate(options?: BenchOptions, at?: string): Promise<OpenShard>
  /** Opens a connection that holds locks and looks at the server. */
  observe(): Promise<Connection>
  /** Starts a network between a driver and the server, for the same user or that of another address. */
  behindProxy(to?: string): Promise<{ readonly proxy: TcpProxy; readonly url: string }>
}

export const epoch = 1

/** Settings of tests of the pool, below the driver. */
export const settings: ShardSettings = {
  poolSize: 10,
  maxQueue: 1_000,
  deadlineMs: 10_000,
  connectTimeoutMs: 5_000,
  lockWaitSeconds: 3,
  idleMs: 60_000,
  breakerFailures: 5,
  breakerProbeMs: 1_000,
  readOnlyMs: 10_000,
}

/** Registers work for after the test; the last registered runs first. */
export function cleanUp(work: () => Promise<unknown> | void): void {
  onTestFinished(async () => void (await work()))
}

export async function freshBench(): Promise<Bench> {
  const { urls } = await freshShards(1)
  const url = urls[0] as string

  async function connect(options: BenchOptions = {}, at = url): Promise<OpenShard> {
    const driver = await describeTuned([at], options).connect()
    cleanUp(() => driver.close())
    return { driver, shard: driver.shards[0] as Shard }
  }

  return {
    url,
    connect,
    async migrate(options, at) {
      // Without the deadlines of the test, since a machine may be slow to create tables.
      const driver = await mysqlShards([url]).connect()
      const shard = driver.shards[0] as Shard
      await initShard(shard)
      await driver.close()
      return connect(options, at)
    },
    async observe() {
      const connection = await createConnection(url)
      cleanUp(() => connection.destroy())
      return connection
    },
    async behindProxy(to = url) {
      const through = new URL(to)
      const proxy = await startTcpProxy(Number(through.port))
      cleanUp(() => proxy.close())
      through.port = String(proxy.port)
      return { proxy, url: through.href }
    },
  }
}

/** An entity that is not stored yet. */
export interface NewEntity extends EntityInsert {
  readonly body: Buffer
}

export function newEntity(body = 'body'): NewEntity {
  return { id: randomBytes(16), version: 1, body: Buffer.from(body) }
}

/** Inserts an entity, and locks it until the holder ends its transaction. */
export async function insertLocked(
  shard: Shard,
  holder: Connection,
  entity: NewEntity = newEntity(),
): Promise<NewEntity> {
  await shard.entities.insert([entity], { epoch })
  await holder.query('START TRANSACTION')
  await holder.query('SELECT id FROM entities WHERE id = ? FOR UPDATE', [entity.id])
  return entity
}

/** Returns the threads of this database on the server but the asking one; with a pattern, only those with such a statement. */
export async function threadsAt(observer: Connection, statement = ''): Promise<readonly number[]> {
  const [[own]] = await observer.query<RowDataPacket[]>('SELECT DATABASE() AS db, CONNECTION_ID() AS id')
  // On MySQL a SELECT fails while a prepared statement with bytes among its parameters runs.
  const [threads] = await observer.query<RowDataPacket[]>('SHOW FULL PROCESSLIST')
  return threads
    .filter(({ db, Id, Info }) => db === own?.db && Id !== own?.id && String(Info ?? '').includes(statement))
    .map(({ Id }) => Number(Id))
}

/** Resolves with the thread that runs a statement like this, once there is one. */
export function threadBusyWith(observer: Connection, statement: string): Promise<number> {
  return until(async () => (await threadsAt(observer, statement))[0])
}
