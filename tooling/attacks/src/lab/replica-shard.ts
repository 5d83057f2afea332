import { setTimeout as sleep } from 'node:timers/promises'
import { assembleCluster, type Cluster } from './cluster.ts'
import { moment } from './records.ts'
import { replicationHere, type Replication } from './replication.ts'
import type { Server, Servers } from './server.ts'
import { startShard, type Shard } from './shard.ts'

/** `semi-sync`: a commit is acknowledged when the replica has it. `asynchronous`: the replica may lag. */
export type ReplicationMode = 'semi-sync' | 'asynchronous'

/** Record of a failover. Times are those of histories. */
export interface Failover extends SemiSyncStatus {
  /** The replica has every write that was acknowledged before this time. */
  readonly caughtUpAt: number
  /** The old primary sent its last answer before this time. */
  readonly goneAt: number
  /** Statements reached the promoted server from this time on. */
  readonly openedAt: number
}

export interface FailoverOptions {
  /** Milliseconds for which the replica is cut off before the primary goes. Undefined: not at all. */
  readonly lagMs?: number | undefined
  /** True: SIGSTOP, then SIGKILL after the promotion. False: SIGKILL at once. */
  readonly freeze: boolean
  /** Place of the replica to promote. Default: the first one. */
  readonly place?: number | undefined
  /**
   * True: the old primary returns as a replica of the promoted server, if it can. Otherwise that server gets
   * a new replica.
   */
  readonly rejoin?: boolean | undefined
  /** Runs on the promoted server before it takes writes. */
  readonly beforeOpening?: ((ask: Server['ask']) => Promise<void>) | undefined
}

/**
 * A shard with a primary and its replicas, or a primary alone. `place` selects a replica; default: the first
 * one.
 */
export interface ReplicaShard extends Shard {
  /**
   * Removes the primary, promotes a replica, and puts another server in the replica's place. The other
   * replicas must be running, and follow.
   */
  failOver(options: FailoverOptions): Promise<Failover>
  /** Returns the replica at this place. */
  replica(place?: number): Server
  /** Stops replaying: the replica still receives, but shows nothing new. */
  stopReplaying(place?: number): Promise<void>
  /** Resumes replaying, also after a restart of the replica. */
  startReplaying(place?: number): Promise<void>
  /** Delays everything that the replica shows by this many seconds. */
  delayReplica(seconds: number, place?: number): Promise<void>
  /** Cuts the replica off from the primary. */
  cutReplica(place?: number): Promise<void>
  /** Returns the status of the primary's semi-synchronous replication. */
  semiSyncStatus(): Promise<SemiSyncStatus>
}

export interface SemiSyncStatus {
  /** Whether commits wait for a replica. */
  readonly wasSemiSync: boolean
  /** Number of commits that did not wait. */
  readonly unconfirmed: number
}

/** Longer than any run, so that a commit waits for the replica without a limit. */
const SEMI_SYNC_TIMEOUT_MS = 3_600_000
const WAIT_SECONDS = 120

interface Group {
  readonly mode: ReplicationMode
  readonly replicas: Server[]
  /** The next replica, prepared in advance so that its start does not prolong a failover. */
  spare: Promise<Server>
}

export interface ReplicaClusterOptions {
  readonly mode: ReplicationMode
  readonly shards: number
  /** Numbers of the shards with replicas. */
  readonly replicated: readonly number[]
  /** Replicas of each such shard. Default: 1. */
  readonly replicas?: number | undefined
}

/** Starts a cluster in which some shards have replicas. */
export function startReplicaCluster(options: ReplicaClusterOptions): Promise<Cluster<ReplicaShard>> {
  const { mode, shards, replicated, replicas = 1 } = options
  const replication = replicationHere()
  return assembleCluster(shards, replication.settings, (servers, number) =>
    startReplicaShard(servers, replication, replicated.includes(number) ? mode : undefined, replicas),
  )
}

/** Without a mode, starts a primary alone. */
async function startReplicaShard(
  servers: Servers,
  replication: Replication,
  mode: ReplicationMode | undefined,
  count: number,
): Promise<ReplicaShard> {
  const { semiSyncStatus, confirmCommits, position, reach, follow, promote, demote } =
    statementsOf(replication)
  let primary = await servers.start()
  const group = mode === undefined ? undefined : await startGroup(mode)
  const shard = await startShard(primary)

  async function startGroup(chosen: ReplicationMode): Promise<Group> {
    if (chosen === 'semi-sync') await confirmCommits(primary)
    const replicas = await Promise.all(Array.from({ length: count }, () => servers.start()))
    await Promise.all(replicas.map((replica) => follow(replica, primary, chosen)))
    return { mode: chosen, replicas, spare: startSpare() }
  }

  function grouped(): Group {
    if (group === undefined) throw new Error('This shard has no replica.')
    return group
  }

  function replicaAt(place = 0): Server {
    const replica = grouped().replicas[place]
    if (replica === undefined) throw new Error(`This shard has no replica ${place}.`)
    return replica
  }

  function startSpare(): Promise<Server> {
    const spare = servers.start()
    spare.catch(() => undefined)
    return spare
  }

  async function failOver(
    own: Group,
    { lagMs, freeze, place = 0, rejoin: mayRejoin = false, beforeOpening }: FailoverOptions,
  ): Promise<Failover> {
    const rejoin = mayRejoin && replication.rejoin !== undefined
    const { mode: chosen } = own
    const replica = replicaAt(place)
    const others = own.replicas.filter((one) => one !== replica)
    let caughtUpAt = moment()
    if (lagMs !== undefined) {
      await reach(replica, await position(primary))
      await replica.ask(replication.stopReceiving)
      await sleep(lagMs)
    }
    const status = await semiSyncStatus(primary)
    // With semi-synchronous replication, the replica has every write acknowledged up to this moment.
    if (lagMs === undefined) caughtUpAt = moment()
    const old = primary
    if (freeze) old.freeze()
    else await shard.kill()
    const goneAt = moment()

    await promote(replica)
    primary = replica
    const followed = async (): Promise<void> => {
      if (rejoin) await demote(old)
      const next = rejoin ? old : await own.spare
      own.replicas[place] = next
      await Promise.all([...others, next].map((one) => follow(one, primary, chosen)))
    }
    if (chosen === 'semi-sync') {
      // Without a replica, no commit would be answered.
      await confirmCommits(primary)
      await followed()
    }
    await beforeOpening?.(primary.ask)
    const openedAt = moment()
    shard.moveTo(primary)
    if (!rejoin) await old.remove()
    if (chosen === 'asynchronous') await followed()
    if (!rejoin) own.spare = startSpare()
    return { caughtUpAt, goneAt, openedAt, ...status }
  }

  /** Ensures that the replica to promote has every acknowledged write, and that no other replica has more. */
  async function leaveBehind(own: Group, place = 0): Promise<void> {
    const others = own.replicas.filter((one) => one !== replicaAt(place))
    for (const other of others) await other.ask(replication.stop)
    if (others.length > 0) await reach(replicaAt(place), await position(primary))
  }

  return {
    ...shard,
    async failOver(options) {
      await leaveBehind(grouped(), options.place)
      return failOver(grouped(), options)
    },
    replica: replicaAt,
    stopReplaying: async (place) => void (await replicaAt(place).ask(replication.stopReplaying)),
    startReplaying: async (place) => void (await replicaAt(place).ask(replication.start)),
    async delayReplica(seconds, place) {
      const replica = replicaAt(place)
      await replica.ask(replication.stop)
      await replica.ask(replication.delay(seconds))
      await replica.ask(replication.start)
    },
    async cutReplica(place) {
      await replicaAt(place).ask(replication.stopReceiving)
    },
    semiSyncStatus: () => semiSyncStatus(primary),
    async stop() {
      await shard.stop()
      // The group's servers are removed with it.
      await group?.spare.catch(() => undefined)
    },
  }
}

/** Returns the statements for this kind of server. */
function statementsOf(replication: Replication) {
  const { semiSyncSource, semiSyncReplica } = replication

  async function position(server: Server): Promise<string> {
    return String((await server.ask(replication.position))[0]?.['position'])
  }

  /** Waits until a server has applied everything up to a position. */
  async function reach(server: Server, until: string): Promise<void> {
    const found = await server.ask(replication.reach(until, WAIT_SECONDS))
    if (Number(found[0]?.['late']) !== 0) {
      const status = (await server.ask(replication.status))[0]
      throw new Error(
        `A replica has not reached ${until} in ${WAIT_SECONDS} s: ${String(status?.['Last_Error'])} ${String(status?.['Last_IO_Error'])}`,
      )
    }
  }

  return {
    position,
    reach,

    /**
     * Makes a server follow another one, from the beginning or its own position, and waits until it has
     * caught up.
     */
    async follow(replica: Server, primary: Server, mode: ReplicationMode): Promise<void> {
      const { hostname, port, username, password } = primary.url
      await replica.ask('SET GLOBAL read_only = ON')
      await replica.ask(`SET GLOBAL ${semiSyncReplica}_enabled = ${mode === 'semi-sync' ? 'ON' : 'OFF'}`)
      const source = { host: hostname, port: Number(port), user: username, password }
      // MariaDB has refused a new server's first CHANGE MASTER once, because of a running slave.
      await replica.ask(replication.stop)
      await replica.ask(replication.follow(source))
      await replica.ask(replication.start)
      await reach(replica, await position(primary))
    },

    /**
     * Applies everything that the replica has received before writes begin, because some of it may be
     * acknowledged.
     */
    async promote(replica: Server): Promise<void> {
      await replica.ask(replication.stopReceiving)
      const status = (await replica.ask(replication.status))[0]
      await reach(replica, String(status?.[replication.received]).replaceAll('\n', ''))
      await replica.ask(replication.stop)
      await replica.ask(replication.forget)
      await replica.ask('SET GLOBAL read_only = OFF')
    },

    /** Starts a killed primary as a future replica. */
    async demote(server: Server): Promise<void> {
      if (replication.rejoin === undefined)
        throw new Error('A server of this kind cannot return as a replica.')
      await server.restart(replication.rejoin.arguments)
      await server.ask(replication.rejoin.statement)
    },

    /** Makes commits wait for a replica. */
    async confirmCommits(server: Server): Promise<void> {
      await server.ask(`SET GLOBAL ${semiSyncSource}_wait_point = 'AFTER_SYNC'`)
      await server.ask(`SET GLOBAL ${semiSyncSource}_timeout = ${SEMI_SYNC_TIMEOUT_MS}`)
      await server.ask(`SET GLOBAL ${semiSyncSource}_enabled = ON`)
    },

    async semiSyncStatus(server: Server): Promise<SemiSyncStatus> {
      const rows = await server.ask(`SHOW GLOBAL STATUS LIKE '${semiSyncSource}_%'`)
      const of = (name: string): string => {
        const row = rows.find(
          (each) => String(each['Variable_name']).toLowerCase() === `${semiSyncSource}_${name}`,
        )
        return String(row?.['Value'])
      }
      return {
        wasSemiSync: of('status') === 'ON' && Number(of('clients')) > 0,
        unconfirmed: Number(of('no_tx')),
      }
    },
  }
}
