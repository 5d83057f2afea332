import { describeKind } from '@looseleaf/core/internal'
import {
  parseShardAddress,
  refuse,
  refuseOthers,
  type MysqlShardOptions,
  type ShardAddress,
  type Tls,
} from './shard-address.ts'

/** A shard with replicas, for reads that allow for their age. Each server is a URL or an object, as for a shard without replicas. */
export interface ReplicatedMysqlShard {
  /** Server that takes the writes. */
  readonly primary: string | MysqlShardOptions
  /** Servers that replicate the primary. Each address must always lead to the same server, since the store tracks its age. */
  readonly replicas: readonly (string | MysqlShardOptions)[]
}

/** Checked addresses of a shard. */
export interface ShardServers {
  readonly primary: ShardAddress
  readonly replicas: readonly ShardAddress[]
}

/** Checks the servers of one shard. Throws `BAD_OPTION`, with a message that begins with `subject`. */
export function parseShardServers(shard: unknown, subject: string, tls: Tls): ShardServers {
  if (typeof shard !== 'object' || shard === null || !('primary' in shard || 'replicas' in shard))
    return { primary: parseShardAddress(shard, subject, tls), replicas: [] }
  refuseOthers(subject, shard, ['primary', 'replicas'])
  const { primary, replicas } = shard as Partial<ReplicatedMysqlShard>
  if (primary === undefined) throw refuse(subject, 'has replicas and no primary')
  if (!Array.isArray(replicas))
    throw refuse(subject, `has to have replicas that are a list; got ${describeKind(replicas)}`)
  return {
    primary: parseShardAddress(primary, `The primary of ${subject}`, tls),
    // `map` would skip the holes of a sparse array.
    replicas: Array.from(replicas, (replica, i) =>
      parseShardAddress(replica, `Replica ${i} of ${subject}`, tls),
    ),
  }
}
