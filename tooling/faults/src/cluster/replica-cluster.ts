import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assembleCluster, LOAD_USER, type Cluster } from './cluster.ts'
import { createReplicaServers } from './replica-server.ts'
import { replicationHere } from './replication.ts'
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
  const replication = replicationHere()
  const servers = await createReplicaServers(folder, replication.settings, async (ask) => {
    await ask(`CREATE USER '${LOAD_USER}'@'127.0.0.1' IDENTIFIED BY '${password}'`)
  })
  return assembleCluster(
    Array.from({ length: options.shards }, (_, shard) =>
      startReplicaShard(servers, replication, options.replicated.includes(shard) ? options.mode : undefined),
    ),
    password,
    async () => {
      await servers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  )
}
