import { randomBytes } from 'node:crypto'
import { findServer, startServers } from '@looseleaf-tooling/mariadb'
import { mysqlShards } from 'looseleaf'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import type { ServerMeter } from '../measure/usage.ts'
import { openLooseleafSide } from '../sides/looseleaf-side.ts'
import { openMysqlSide } from '../sides/mysql-side.ts'
import { createPlacement } from '../sides/placement.ts'
import type { Backend } from './backend.ts'
import { createCleanup, type Cleanup } from './cleanup.ts'

export interface MysqlBackendOptions {
  /** Servers that are running already; without any, private ones are started. */
  readonly urls: readonly string[]
  /** How many to start. */
  readonly shards: number
  /** Connections to each shard of the hand-written side. */
  readonly poolSize: number
}

/** More memory than the launcher gives for tests: data and log of a run fit, so neither side waits for the other's leftovers. */
export const serverArguments: readonly string[] = [
  '--innodb-buffer-pool-size=512M',
  // The log has one name with MariaDB and another with MySQL; `loose` is for the one that does not know it.
  '--loose-innodb-log-file-size=512M',
  '--loose-innodb-redo-log-capacity=512M',
  '--innodb-log-buffer-size=16M',
]

/** Settings that say how safe a write is and how much memory there is. */
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

/** Thrown for a server that was given and does not answer; the message is for people and has no password in it. */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable'
}

/** Looks whether each server lets the user in. */
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

/** A new database on each server, removed at the end. */
export async function openMysqlBackend(options: MysqlBackendOptions): Promise<Backend> {
  const cleanup = createCleanup()
  try {
    const { servers, pids } = await findServers(options, cleanup)
    const database = `looseleaf_bench_${randomBytes(6).toString('hex')}`
    const admins = await Promise.all(
      servers.map(async (server) => {
        const admin = await createConnection({ uri: server, connectTimeout: 10_000 })
        cleanup.add(() => admin.end())
        return admin
      }),
    )
    const urls = await Promise.all(
      servers.map(async (server, shard) => {
        const name = `${database}_${shard}`
        await admins[shard]?.query(`CREATE DATABASE ${name}`)
        cleanup.add(async () => admins[shard]?.query(`DROP DATABASE ${name}`))
        const url = new URL(server)
        url.pathname = `/${name}`
        return url.href
      }),
    )
    const looseleaf = await openLooseleafSide(mysqlShards(urls))
    cleanup.add(() => looseleaf.close())
    const placement = createPlacement(urls.length, await looseleaf.store.indexes())
    const handWritten = openMysqlSide({ urls, poolSize: options.poolSize, placement })
    cleanup.add(() => handWritten.close())
    return {
      name: 'mysql',
      title: `${urls.length} ${options.urls.length > 0 ? 'given databases' : `${ownServers()} on this machine`}`,
      sides: [looseleaf, handWritten],
      server: createMeter(admins, pids),
      facts: {
        shards: urls.length,
        startedHere: options.urls.length === 0,
        handWrittenPoolSize: options.poolSize,
        ...(await readSettings(admins)),
      },
      close: () => cleanup.run(),
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

function ownServers(): string {
  return findServer()?.flavor === 'mysql' ? 'MySQL servers' : 'MariaDB servers'
}

async function findServers(
  options: MysqlBackendOptions,
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
    pids,
    async counters() {
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
      return { statements, flushes }
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
