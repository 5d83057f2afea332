import { randomBytes } from 'node:crypto'
import { createServers, type OwnOptions, type Servers } from './server.ts'
import { startShard, type Shard } from './shard.ts'

/** Database servers of our own, each behind a proxy, which may be killed and come back. */
export interface Cluster<Part extends Shard = Shard> {
  readonly shards: readonly Part[]
  /** A new, empty database on every server; the user of the load may use it and nothing else. */
  createDatabase(): Promise<ClusterDatabase>
  stop(): Promise<void>
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

export interface ClusterOptions {
  /** Default: 2. */
  readonly shards?: number | undefined
  /** More arguments for every server. */
  readonly serverArguments?: readonly string[] | undefined
  /** What the server of a shard has for itself, by the shard's number. */
  readonly own?: Readonly<Record<number, OwnOptions>> | undefined
}

/** A cluster of shards that are a server each. */
export function startCluster({
  shards = 2,
  serverArguments = [],
  own,
}: ClusterOptions = {}): Promise<Cluster> {
  return assembleCluster(shards, serverArguments, async (servers, number) =>
    startShard(await servers.start(own?.[number])),
  )
}

/** A cluster of shards that are started all at once. When one cannot be, the others are stopped again and it rejects. */
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
      const rights = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX'
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
