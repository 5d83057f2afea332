import { describeKind } from '@looseleaf/core'
import {
  parseShardAddress,
  refuse,
  type MysqlShardOptions,
  type ShardAddress,
  type Tls,
} from './shard-address.ts'

/** A shard with servers that follow its primary, for reads that allow for it. Each is given as a shard without any is. */
export interface ReplicatedMysqlShard {
  /** The server that is written. */
  readonly primary: string | MysqlShardOptions
  /**
   * Servers that replicate the primary's database. Each address has to lead to one server, always the same: how far it is says nothing
   * of another.
   */
  readonly replicas: readonly (string | MysqlShardOptions)[]
}

/** The addresses of a shard, checked. */
export interface ShardServers {
  readonly primary: ShardAddress
  readonly replicas: readonly ShardAddress[]
}

/** Checks the servers of one shard. Throws `BAD_OPTION`. */
export function parseShardServers(shard: unknown, number: number, tls: Tls): ShardServers {
  const who = `MySQL shard ${number}`
  if (typeof shard !== 'object' || shard === null || !('primary' in shard || 'replicas' in shard))
    return { primary: parseShardAddress(shard, who, tls), replicas: [] }
  const { primary, replicas, ...others } = shard as Partial<ReplicatedMysqlShard>
  const other = Object.keys(others)[0]
  if (other !== undefined)
    throw refuse(who, `has primary and replicas, and beside them ${JSON.stringify(other.slice(0, 40))}`)
  if (primary === undefined) throw refuse(who, 'has replicas and no primary')
  if (!Array.isArray(replicas))
    throw refuse(who, `has to have replicas that are a list; got ${describeKind(replicas)}`)
  return {
    primary: parseShardAddress(primary, `The primary of ${who}`, tls),
    // Not by `map`, which skips the holes of a list.
    replicas: Array.from(replicas, (replica, i) => parseShardAddress(replica, `Replica ${i} of ${who}`, tls)),
  }
}
