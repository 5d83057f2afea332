import { randomBytes } from 'node:crypto'
import { findServer, startServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { cpuOf, type ServerMeter } from '../measure/usage.ts'
import { createCleanup, type Cleanup } from './cleanup.ts'
import type { Server } from './server.ts'

export interface MariadbOptions {
  /** Running servers to use. If empty, private ones are started. */
  readonly urls: readonly string[]
  /** Number of servers to start. */
  readonly shards: number
}

/** More memory than test servers get. Data and log of a run fit, so no side waits for the page flushes of another. */
export const serverArguments: readonly string[] = [
  '--innodb-buffer-pool-size=2G',
  // MariaDB and MySQL name the log size differently; with `loose`, a server ignores the name that it does not know.
  '--loose-innodb-log-file-size=512M',
  '--loose-innodb-redo-log-capacity=512M',
  '--innodb-log-buffer-size=16M',
]

/** Settings to report: durability of writes, and memory. */
const settings = [
  'innodb_flush_log_at_trx_commit',
  'innodb_doublewrite',
  'innodb_flush_method',
  'innodb_buffer_pool_size',
  'innodb_log_file_size',
  'innodb_redo_log_capacity',
  'log_bin',
  'sync_binlog',
  'thread_handling',
  'max_allowed_packet',
]

/** Thrown if a given server cannot be used. The message is for people and contains no credentials. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable'
}

/** Connects to each server once. Throws `ServerUnreachable` for the first that fails. */
export async function checkServers(urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    try {
      const connection = await createConnection({ uri: url, connectTimeout: 10_000 })
      await connection.end()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
      throw new ServerUnreachable(`The server at ${new URL(url).host} cannot be used${code}.`, {
        cause: error,
      })
    }
  }
}

export async function openMariadb(options: MariadbOptions): Promise<Server> {
  const cleanup = createCleanup()
  try {
    const { servers, pids } = await findServers(options, cleanup)
    const admins = await Promise.all(
      servers.map(async (server) => {
        const admin = await createConnection({ uri: server, connectTimeout: 10_000 })
        cleanup.add(() => admin.end())
        return admin
      }),
    )
    const nameOf = (url: string): string => new URL(url).pathname.slice(1)
    return {
      kind: 'mariadb',
      title: titleOf(servers.length, options.urls.length > 0 ? 'given' : startedFlavor()),
      facts: {
        shards: servers.length,
        startedHere: options.urls.length === 0,
        ...(await readSettings(admins)),
      },
      meter: createMeter(admins, pids),
      async createDatabases() {
        const name = `looseleaf_bench_${randomBytes(6).toString('hex')}`
        return Promise.all(
          servers.map(async (server, shard) => {
            const database = `${name}_${shard}`
            await admins[shard]?.query(`CREATE DATABASE ${database}`)
            cleanup.add(async () => admins[shard]?.query(`DROP DATABASE IF EXISTS ${database}`))
            const url = new URL(server)
            url.pathname = `/${database}`
            return url.href
          }),
        )
      },
      async dropDatabases(databases) {
        await Promise.all(
          databases.map((url, shard) => admins[shard]?.query(`DROP DATABASE IF EXISTS ${nameOf(url)}`)),
        )
      },
      async bytesOf(databases) {
        const sizes = await Promise.all(
          databases.map((url, shard) => bytesOf(admins[shard] as Connection, nameOf(url))),
        )
        return sizes.reduce((sum, size) => sum + size, 0)
      },
      close: () => cleanup.run(),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

/** Returns the bytes of the pages in use. ANALYZE TABLE updates this statistic first, and gives the planner current statistics as well. */
async function bytesOf(admin: Connection, database: string): Promise<number> {
  const [tables] = await admin.query<RowDataPacket[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?',
    [database],
  )
  for (const { name } of tables) await admin.query(`ANALYZE TABLE ${database}.${String(name)}`)
  const [rows] = await admin.query<RowDataPacket[]>(
    'SELECT SUM(data_length + index_length) AS bytes FROM information_schema.tables WHERE table_schema = ?',
    [database],
  )
  return Number(rows[0]?.['bytes'] ?? 0)
}

function startedFlavor(): string {
  return findServer()?.flavor === 'mysql' ? 'MySQL' : 'MariaDB'
}

function titleOf(count: number, flavor: string): string {
  return `${count} ${flavor} ${count === 1 ? 'server' : 'servers'}`
}

async function findServers(
  options: MariadbOptions,
  cleanup: Cleanup,
): Promise<{ servers: readonly string[]; pids: readonly number[] }> {
  if (options.urls.length > 0) return { servers: options.urls, pids: [] }
  const started = await startServers(options.shards, { serverArguments })
  cleanup.add(() => started.stop())
  return { servers: started.urls, pids: started.pids }
}

interface Variable extends RowDataPacket {
  readonly Variable_name: string
  readonly Value: string
}

function createMeter(admins: readonly Connection[], pids: readonly number[]): ServerMeter {
  return {
    async read() {
      let statements = 0
      let flushes = 0
      for (const admin of admins) {
        const [rows] = await admin.query<Variable[]>(
          `SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Innodb_data_fsyncs')`,
        )
        const value = (name: string): number =>
          Number(rows.find((row) => row.Variable_name === name)?.Value ?? 0)
        statements += value('Questions')
        flushes += value('Innodb_data_fsyncs')
      }
      return { cpu: cpuOf(pids), statements, flushes }
    },
  }
}

async function readSettings(admins: readonly Connection[]): Promise<Readonly<Record<string, unknown>>> {
  const perServer = await Promise.all(
    admins.map(async (admin) => {
      const [rows] = await admin.query<Variable[]>('SHOW GLOBAL VARIABLES WHERE Variable_name IN (?)', [
        ['version', 'version_comment', ...settings],
      ])
      return Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]))
    }),
  )
  return { servers: perServer }
}
