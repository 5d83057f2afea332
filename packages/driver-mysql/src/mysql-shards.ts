import type { Driver, DriverFactory } from '@looseleaf/core'
import {
  badOption,
  badArgument,
  checkOptions,
  isOutage,
  optionKinds,
  wholeNumber,
  type OptionKinds,
} from '@looseleaf/core/internal'
import { kyselyDriver, type KyselyShardOptions } from '@looseleaf/driver-kysely'
import { checkEntityTable, statementTeller } from '@looseleaf/driver-kysely/internal'
import type { MysqlShardOptions, MysqlTlsOptions, ShardAddress } from './connection/shard-address.ts'
import { isPlainAddress, serversAt } from './connection/servers-at.ts'
import {
  parseShardServers,
  type ReplicatedMysqlShard,
  type ShardServers,
} from './connection/shard-servers.ts'
import { mysqlDialect } from './kysely/dialect.ts'
import { mysqlFlavor } from './kysely/flavor.ts'
import { readActivity } from './shard/activity.ts'
import { replicaWarnings, serverWarnings } from './settings/warnings.ts'
import { connectShard, type ShardPool, type ShardSettings, type ShardTuning } from './shard/connect-shard.ts'

export interface MysqlShardsOptions {
  /**
   * Largest number of connections per shard; one or two more exist for a moment, to kill statements or to ask for a sign of life, and up to 8
   * more for snapshots. A process has about four statements in flight per shard, and two more per index. Default: 10.
   */
  readonly poolSize?: number | undefined
  /**
   * Deadline of a statement or a whole transaction in milliseconds. It includes the wait for a connection, which may take
   * half of it, opening one, and all answers. Default: 10,000.
   */
  readonly deadlineMs?: number | undefined
  /** Milliseconds until a new connection can be used, and the same again for a `password` function. Default: 5,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Whole seconds that a statement waits for a lock on a row or a table. Default: 3. */
  readonly lockWaitSeconds?: number | undefined
  /** Milliseconds after which an unused connection is closed; less than the idle timeout of a proxy or firewall between. Default: 60,000. */
  readonly idleMs?: number | undefined
  /** Encrypts connections, and verifies the server's certificate and name. Default: off. */
  readonly tls?: boolean | MysqlTlsOptions | undefined
  /** Name of the entity table. The store keeps it, and refuses another name with `LAYOUT_MISMATCH`. Default: `entities`. */
  readonly entityTable?: string | undefined
  /**
   * Returns the connection of a shard that joined the store and is not in this list, as a URL or options, from its address
   * `host:port/database`. Default: the user, the password and the TLS of the first shard in the list, at that host, port and database.
   */
  readonly connection?: ((address: string) => string | MysqlShardOptions | ReplicatedMysqlShard) | undefined
}

/**
 * Describes shards on MySQL or MariaDB servers, in any order once the store is made. Throws `BAD_OPTION`.
 *
 * `connect` opens one connection per shard. It rejects if a server refuses its connection, or if no server can be reached. If only
 * some cannot be reached, it resolves, and the calls to them try again. Replicas are connected at their first read.
 */
export function mysqlShards(
  shards: readonly (string | MysqlShardOptions | ReplicatedMysqlShard)[],
  options: MysqlShardsOptions = {},
): DriverFactory {
  return tunedMysqlShards(shards, options)
}

/** As `mysqlShards`, with a tuning, for tests. */
export function tunedMysqlShards(
  shards: readonly (string | MysqlShardOptions | ReplicatedMysqlShard)[],
  options: MysqlShardsOptions,
  tuning: Partial<ShardTuning> = {},
): DriverFactory {
  const settings = { ...settingsOf(options), ...TUNING, ...tuning }
  if (!Array.isArray(shards) || shards.length === 0) {
    throw badArgument('mysqlShards', 'a list of at least one URL', shards)
  }
  // `map` would skip the holes of a sparse array.
  const servers = Array.from(shards, (shard, number) =>
    parseShardServers(shard, `MySQL shard ${number}`, options.tls),
  )
  checkDifferent(servers)

  return {
    shardCount: servers.length,
    async connect({ statements, onRefusing } = {}): Promise<Driver> {
      const open = new Set<Connected>()
      /** The servers of each shard: its primary and its replicas. */
      const serversOf = new Map<string, readonly Connected[]>()
      const connectTo = (
        address: ShardAddress,
        tuned: ShardSettings,
        describeOthers?: () => string,
      ): Connected => {
        const pool = connectShard(address, tuned, {
          statements: statementTeller(address.name, statements),
          onRefusing: (isRefusing) => onRefusing?.(address.name, isRefusing),
          describeOthers,
        })
        const connected = { name: address.name, pool }
        open.add(connected)
        return connected
      }
      const primaries: Connected[] = []
      const { entityTable } = settings
      const shardOn = ({ name, pool }: Connected) => ({
        name,
        dialect: mysqlDialect(pool),
        flavor: mysqlFlavor,
        entityTable,
        openSnapshot: pool.openSnapshot,
        connections: () => pool.state(),
        activity: readActivity,
      })
      const shardOf = ({ primary, replicas }: ShardServers): Omit<KyselyShardOptions, 'gate'> => {
        const connected = connectTo(primary, settings, () => reachableText(primaries))
        const followers = replicas.map((replica) =>
          connectTo(replica, { ...settings, readOnlyMs: Number.POSITIVE_INFINITY }),
        )
        primaries.push(connected)
        serversOf.set(connected.name, [connected, ...followers])
        return {
          ...shardOn(connected),
          warnings: serverWarnings,
          replicas: followers.map((replica) => ({ ...shardOn(replica), warnings: replicaWarnings })),
        }
      }
      const closeAll = async (connected: Iterable<Connected>): Promise<void> => {
        await Promise.all(Array.from(connected, ({ pool }) => pool.close()))
      }
      const closeConnections = (): Promise<void> => closeAll(open)

      const shardOptions = servers.map(shardOf)
      const pools = primaries.map(({ pool }) => pool)
      const opened = await Promise.allSettled(pools.map(async (pool) => pool.release(await pool.acquire())))
      const errors = opened.flatMap((result): unknown[] =>
        result.status === 'rejected' ? [result.reason] : [],
      )
      const refusal = errors.find((error) => !isOutage(error))
      if (refusal !== undefined || errors.length === pools.length) {
        await closeConnections()
        throw refusal ?? errors[0]
      }
      return kyselyDriver({
        shards: shardOptions,
        databaseAt(address) {
          const found = serversAt(address, servers[0]!.primary, options)
          return {
            name: found.primary.name,
            hasCredentials: !isPlainAddress(address),
            open: () => shardOf(found),
          }
        },
        async disconnect(name) {
          const left = serversOf.get(name) ?? []
          serversOf.delete(name)
          for (const each of left) {
            open.delete(each)
            if (primaries.includes(each)) primaries.splice(primaries.indexOf(each), 1)
          }
          await closeAll(left)
        },
        closeConnections,
      })
    },
  }
}

interface Connected {
  readonly name: string
  readonly pool: ShardPool
}

/** Describes how many shards are reachable, for the error of one that is not; empty for a single shard. */
function reachableText(shards: readonly Connected[]): string {
  const reachable = shards.filter(({ pool }) => !pool.isRefusing).length
  if (shards.length === 1) return ''
  return reachable === 0
    ? `None of the ${shards.length} shards is reachable.`
    : `${reachable} of ${shards.length} shards ${reachable === 1 ? 'is' : 'are'} reachable: calls that need no other shard are answered.`
}

interface Settings extends Omit<ShardSettings, keyof ShardTuning> {
  readonly entityTable: string
}

const TUNING: ShardTuning = {
  maxQueue: 10_000,
  breakerFailures: 5,
  breakerProbeMs: 1_000,
  readOnlyMs: 10_000,
}

/** Smallest value, largest value and default of each option. */
const numbers = {
  poolSize: [1, 1_000, 10],
  deadlineMs: [1, 3_600_000, 10_000],
  connectTimeoutMs: [1, 600_000, 5_000],
  lockWaitSeconds: [1, 3_600, 3],
  idleMs: [1, 86_400_000, 60_000],
} satisfies Readonly<Record<Exclude<keyof Settings, 'entityTable'>, readonly [number, number, number]>>

const numberOptions = Object.entries(numbers) as [keyof typeof numbers, [number, number, number]][]

const optionsOfShards: OptionKinds<MysqlShardsOptions> = {
  ...(Object.fromEntries(
    numberOptions.map(([name, [least, most]]) => [name, wholeNumber(least, most)]),
  ) as OptionKinds<Record<keyof typeof numbers, number>>),
  tls: optionKinds.elsewhere,
  entityTable: optionKinds.elsewhere,
  connection: optionKinds.function,
}

function settingsOf(options: MysqlShardsOptions): Settings {
  checkOptions('mysqlShards', options, optionsOfShards)
  const settings = numberOptions.map(([name, [, , standard]]) => [name, options[name] ?? standard])
  return {
    ...(Object.fromEntries(settings) as Record<keyof typeof numbers, number>),
    entityTable: checkEntityTable(options.entityTable ?? 'entities'),
  }
}

/** Throws `BAD_OPTION` for two servers of one address: shards would share their tables, and a primary would be its own replica. */
function checkDifferent(servers: readonly ShardServers[]): void {
  const known = new Map<string, string>()
  for (const [number, { primary, replicas }] of servers.entries()) {
    const shard = `MySQL shard ${number}`
    for (const [i, { name }] of [primary, ...replicas].entries()) {
      const server = i === 0 ? shard : `Replica ${i - 1} of ${shard}`
      const other = known.get(name)
      if (other !== undefined) {
        throw badOption(`${server} is the same database as ${other}; give each its own database.`)
      }
      known.set(name, server)
    }
  }
}
