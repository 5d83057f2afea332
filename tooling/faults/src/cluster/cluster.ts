import { randomBytes } from 'node:crypto'
import type { FaultProxy } from '../proxy/fault-proxy.ts'

/** Database servers of our own, each behind a proxy, which may be killed and come back. */
export interface Cluster {
  readonly shards: readonly ClusterShard[]
  /** A new, empty database on every server; the user of the load may use it and nothing else. */
  createDatabase(): Promise<ClusterDatabase>
  stop(): Promise<void>
}

export interface ClusterShard {
  readonly proxy: FaultProxy
  /** Sends a statement as administrator, past the proxy. Starts a server again that has crashed by itself. */
  admin(statement: string): Promise<Record<string, unknown>[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts the server again on the same data; the proxy follows. */
  restart(): Promise<void>
  /** How often the server has ended by itself and was started again. */
  readonly crashes: number
}

export interface ClusterDatabase {
  readonly name: string
  /** As administrator, past the proxies. */
  adminUrls(): readonly string[]
  /** As a user with few privileges, through the proxies; the same for as long as the cluster lives. */
  readonly urls: readonly string[]
  drop(): Promise<void>
}

export const LOAD_USER = 'load'

/** A shard as those see it who start and stop it. */
export interface RunningShard extends ClusterShard {
  /** For somebody with all rights. */
  url(database: string): string
  stop(): Promise<void>
}

/**
 * A cluster of shards that are being started. When one cannot be, the others are stopped again and it rejects.
 * `remove`: what is to be done when all are stopped.
 */
export async function assembleCluster<S extends RunningShard>(
  starting: readonly Promise<S>[],
  password: string,
  remove: () => Promise<void>,
): Promise<Cluster & { readonly shards: readonly S[] }> {
  const started = await Promise.allSettled(starting)
  const shards = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(shards.map((shard) => shard.stop()))
    await remove()
  }
  const failed = started.find((result) => result.status === 'rejected')
  if (failed !== undefined) {
    await stop()
    throw failed.reason
  }

  return {
    shards,
    stop,
    async createDatabase() {
      const name = `faults_${randomBytes(6).toString('hex')}`
      const rights = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX'
      for (const shard of shards) {
        await shard.admin(`CREATE DATABASE ${name}`)
        await shard.admin(`GRANT ${rights} ON ${name}.* TO '${LOAD_USER}'@'127.0.0.1'`)
      }
      return {
        name,
        urls: shards.map(({ proxy }) => `mysql://${LOAD_USER}:${password}@127.0.0.1:${proxy.port}/${name}`),
        adminUrls: () => shards.map((shard) => shard.url(name)),
        async drop() {
          for (const shard of shards) await shard.admin(`DROP DATABASE IF EXISTS ${name}`)
        },
      }
    },
  }
}
