import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOAD_USER, type Cluster } from './cluster.ts'
import { createReplicaServers } from './replica-server.ts'
import { startReplicaShard, type ReplicaShard, type ReplicationMode } from './replica-shard.ts'

/** A cluster in which some shards are pairs of a primary and its replica. */
export interface ReplicaCluster extends Cluster {
  readonly shards: readonly ReplicaShard[]
}

export interface ReplicaClusterOptions {
  readonly mode: ReplicationMode
  readonly shards: number
  /** The numbers of the shards that have a replica. */
  readonly replicated: readonly number[]
}

export async function startReplicaCluster(options: ReplicaClusterOptions): Promise<ReplicaCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-replicas-'))
  const password = randomBytes(12).toString('hex')
  const servers = await createReplicaServers(folder, async (ask) => {
    await ask(`CREATE USER '${LOAD_USER}'@'127.0.0.1' IDENTIFIED BY '${password}'`)
  })
  const started = await Promise.allSettled(
    Array.from({ length: options.shards }, (_, shard) =>
      startReplicaShard(servers, options.replicated.includes(shard) ? options.mode : undefined),
    ),
  )
  const shards = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(shards.map((shard) => shard.stop()))
    await servers.stop()
    await rm(folder, { recursive: true, force: true })
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
