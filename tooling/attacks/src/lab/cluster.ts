import { randomBytes } from 'node:crypto'
import { createServers, type OwnOptions, type Servers } from './server.ts'
import { startShard, type Shard } from './shard.ts'

/** Private database servers, each behind a proxy, that can be killed and restarted. */
export interface Cluster<Part extends Shard = Shard> {
  readonly shards: readonly Part[]
  /** Creates an empty database on every server. The user of the load has rights on it only. */
  createDatabase(): Promise<ClusterDatabase>
  stop(): Promise<void>
}

export interface ClusterDatabase {
  readonly name: string
  /** Returns URLs for an administrator, past the proxies. */
  adminUrls(): readonly string[]
  /**
   * URLs for a user with few privileges, through the proxies. They stay the same for the cluster's lifetime.
   */
  readonly urls: readonly string[]
  drop(): Promise<void>
}

export const LOAD_USER = 'load'

export interface ClusterOptions {
  /** Number of shards. Default: 2. */
  readonly shards?: number | undefined
  /** Additional arguments of every server. */
  readonly serverArguments?: readonly string[] | undefined
  /** Options of single servers, by shard number. */
  readonly own?: Readonly<Record<number, OwnOptions>> | undefined
}

/** Starts a cluster with one server per shard. */
export function startCluster({
  shards = 2,
  serverArguments = [],
  own,
}: ClusterOptions = {}): Promise<Cluster> {
  return assembleCluster(shards, serverArguments, async (servers, number) =>
    startShard(await servers.start(own?.[number])),
  )
}

/** Starts all shards of a cluster at once. If one fails, it stops the others and rejects. */
export async function assembleCluster<Part extends Shard>(
  count: number,
  serverArguments: readonly string[],
  start: (servers: Servers, number: number) => Promise<Part>,
): Promise<Cluster<Part>> {
  const password = randomBytes(12).toString('hex')
  const user = `'${LOAD_USER}'@'127.0.0.1'`
  const servers = await createServers({
    serverArguments,
    firstStatements: [`CREATE USER ${user} IDENTIFIED BY '${password}'`],
  })
  const started = await Promise.allSettled(
    Array.from({ length: count }, (_, number) => start(servers, number)),
  )
  const shards = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(shards.map((shard) => shard.stop()))
    await servers.stop()
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
      const rights = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP'
      for (const shard of shards) {
        await shard.admin(`CREATE DATABASE ${name}`)
        await shard.admin(`GRANT ${rights} ON ${name}.* TO ${user}`)
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
