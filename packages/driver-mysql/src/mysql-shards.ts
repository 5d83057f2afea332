import { LooseleafError, describeKind, isOutage, type Driver, type DriverFactory } from '@looseleaf/core'
import { checkEntityTable, kyselyDriver, statementTeller } from '@looseleaf/driver-kysely'
import type { MysqlShardOptions, MysqlTlsOptions, ShardAddress } from './connection/shard-address.ts'
import {
  parseShardServers,
  type ReplicatedMysqlShard,
  type ShardServers,
} from './connection/shard-servers.ts'
import { mysqlDialect } from './kysely/dialect.ts'
import { mysqlFlavor } from './kysely/flavor.ts'
import { readActivity } from './shard/activity.ts'
import { replicaWarnings, serverWarnings } from './settings/warnings.ts'
import { connectShard, type ShardPool, type ShardSettings } from './shard/connect-shard.ts'

export interface MysqlShardsOptions {
  /** Connections to each shard at the most; 10 by default. */
  readonly poolSize?: number | undefined
  /** Calls that may wait for a connection of a shard; 10,000 by default. */
  readonly maxQueue?: number | undefined
  /**
   * Milliseconds for a statement or a transaction as a whole: the wait for a connection, opening one, and all answers.
   * Half of them may pass before it is sent. 10,000 by default.
   */
  readonly deadlineMs?: number | undefined
  /** Milliseconds for everything until a new connection can be used, and as many for a function that gives the password; 5,000 by default. */
  readonly connectTimeoutMs?: number | undefined
  /** Whole seconds that a statement waits for a row or a table that others have locked; 3 by default. */
  readonly lockWaitSeconds?: number | undefined
  /** Milliseconds after which an unused connection is closed; 60,000 by default. */
  readonly idleMs?: number | undefined
  /**
   * Failures to reach a shard, with no answer between them, after which calls to it are refused; 5 by default. One connection
   * on which it says nothing for `connectTimeoutMs` is enough if nobody else is answered meanwhile.
   */
  readonly breakerFailures?: number | undefined
  /** Milliseconds between two attempts to reach such a shard again; 1,000 by default. */
  readonly breakerProbeMs?: number | undefined
  /** Encrypts, and verifies the server's certificate and name. Off by default. */
  readonly tls?: boolean | MysqlTlsOptions | undefined
  /** `entities` by default. */
  readonly entityTable?: string | undefined
}

/**
 * Shards on MySQL or MariaDB servers, in the router's order. Nothing is connected before `connect`, which opens one
 * connection to each. It rejects when a server refuses that, and when none can be reached; one of several that cannot is
 * tried again by each call that needs it. Replicas are connected to when they are first read. Throws `BAD_OPTION`.
 */
export function mysqlShards(
  shards: readonly (string | MysqlShardOptions | ReplicatedMysqlShard)[],
  options: MysqlShardsOptions = {},
): DriverFactory {
  const settings = checkOptions(options)
  if (!Array.isArray(shards) || shards.length === 0) {
    throw new LooseleafError(
      'BAD_OPTION',
      `mysqlShards takes a list of at least one URL; got ${describeKind(shards)}.`,
    )
  }
  // Not by `map`, which skips the holes of a list.
  const servers = Array.from(shards, (shard, number) => parseShardServers(shard, number, options.tls))
  checkDifferent(servers)

  return {
    shardCount: servers.length,
    async connect({ statements, onRefusing } = {}): Promise<Driver> {
      const connectTo = (address: ShardAddress, others?: () => string): Connected => {
        const pool = connectShard(address, settings, {
          statements: statementTeller(address.name, statements),
          onRefusing: (isRefusing) => onRefusing?.(address.name, isRefusing),
          others,
        })
        return { name: address.name, pool }
      }
      const primaries: readonly Connected[] = servers.map(({ primary }) =>
        connectTo(primary, () => reachableText(primaries)),
      )
      const pools = primaries.map(({ pool }) => pool)
      const followers = servers.map(({ replicas }) => replicas.map((replica) => connectTo(replica)))
      const closeConnections = async (): Promise<void> => {
        await Promise.all([...primaries, ...followers.flat()].map(({ pool }) => pool.close()))
      }
      const opened = await Promise.allSettled(pools.map(async (pool) => pool.release(await pool.acquire())))
      const errors = opened.flatMap((result): unknown[] =>
        result.status === 'rejected' ? [result.reason] : [],
      )
      const refusal = errors.find((error) => !isOutage(error))
      if (refusal !== undefined || errors.length === pools.length) {
        await closeConnections()
        throw refusal ?? errors[0]
      }
      const { entityTable } = settings
      const shardOn = ({ name, pool }: Connected) => ({
        name,
        dialect: mysqlDialect(pool),
        flavor: mysqlFlavor,
        entityTable,
        connections: () => pool.state(),
        activity: readActivity,
      })
      return kyselyDriver({
        shards: primaries.map((primary, number) => ({
          ...shardOn(primary),
          warnings: serverWarnings,
          replicas: (followers[number] as Connected[]).map((replica) => ({
            ...shardOn(replica),
            warnings: replicaWarnings,
          })),
        })),
        closeConnections,
      })
    },
  }
}

interface Connected {
  readonly name: string
  readonly pool: ShardPool
}

/** Says which calls still work while at least one of these shards refuses; empty when it is the only shard. */
function reachableText(shards: readonly Connected[]): string {
  const reachable = shards.filter(({ pool }) => !pool.isRefusing).length
  if (shards.length === 1) return ''
  return reachable === 0
    ? `None of the ${shards.length} shards is reachable.`
    : `${reachable} of ${shards.length} shards ${reachable === 1 ? 'is' : 'are'} reachable: calls that need no other shard are answered.`
}

interface Settings extends ShardSettings {
  readonly entityTable: string
}

/** Each with its least and greatest value, and what it is by default. */
const numbers: Readonly<Record<Exclude<keyof Settings, 'entityTable'>, readonly [number, number, number]>> = {
  poolSize: [1, 1_000, 10],
  maxQueue: [0, 1_000_000, 10_000],
  deadlineMs: [1, 3_600_000, 10_000],
  connectTimeoutMs: [1, 600_000, 5_000],
  lockWaitSeconds: [1, 3_600, 3],
  idleMs: [1, 86_400_000, 60_000],
  breakerFailures: [1, 1_000, 5],
  breakerProbeMs: [10, 600_000, 1_000],
}

function checkOptions(options: MysqlShardsOptions): Settings {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `mysqlShards takes its options as an object; got ${describeKind(options)}.`,
    )
  }
  const known = [...Object.keys(numbers), 'tls', 'entityTable']
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new LooseleafError(
        'BAD_OPTION',
        `mysqlShards has no option ${JSON.stringify(name.slice(0, 40))}; there are ${known.join(', ')}.`,
      )
    }
  }
  const number = (name: keyof typeof numbers): number => {
    const [least, greatest, usual] = numbers[name]
    const value: unknown = options[name] ?? usual
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= greatest)
      return value
    // The number of an option is no stored value.
    const came = typeof value === 'number' ? String(value) : describeKind(value)
    throw new LooseleafError(
      'BAD_OPTION',
      `The option ${name} has to be a whole number from ${least} to ${greatest}; got ${came}.`,
    )
  }
  return {
    poolSize: number('poolSize'),
    maxQueue: number('maxQueue'),
    deadlineMs: number('deadlineMs'),
    connectTimeoutMs: number('connectTimeoutMs'),
    lockWaitSeconds: number('lockWaitSeconds'),
    idleMs: number('idleMs'),
    breakerFailures: number('breakerFailures'),
    breakerProbeMs: number('breakerProbeMs'),
    entityTable: checkEntityTable(options.entityTable ?? 'entities'),
  }
}

/** Two shards in one database would share their tables, and a primary that is its own replica is none. */
function checkDifferent(servers: readonly ShardServers[]): void {
  const known = new Map<string, string>()
  for (const [number, { primary, replicas }] of servers.entries()) {
    const own = `MySQL shard ${number}`
    for (const [i, { name }] of [primary, ...replicas].entries()) {
      const who = i === 0 ? own : `Replica ${i - 1} of ${own}`
      const other = known.get(name)
      if (other !== undefined) {
        throw new LooseleafError(
          'BAD_OPTION',
          `${who} is the same database as ${other}; each has to be one of its own.`,
        )
      }
      known.set(name, who)
    }
  }
}
