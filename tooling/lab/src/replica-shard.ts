import { setTimeout as sleep } from 'node:timers/promises'
import { assembleCluster, type Cluster } from './cluster.ts'
import { moment } from './records.ts'
import { replicationHere, type Replication } from './replication.ts'
import type { Server, Servers } from './server.ts'
import { startShard, type Shard } from './shard.ts'

/** `semi-sync`: a commit is acknowledged when the replica has it. `asynchronous`: the replica follows as it can. */
export type ReplicationMode = 'semi-sync' | 'asynchronous'

/** A failover as it happened. Moments are those of histories. */
export interface Failover extends SemiSyncStatus {
  /** All that was acknowledged before this was with the replica. */
  readonly caughtUpAt: number
  /** Whatever the old primary answered, it answered before this. */
  readonly goneAt: number
  /** From here on statements reached the promoted server. */
  readonly openedAt: number
}

export interface FailoverOptions {
  /** The replica is cut off so long before the primary goes. Undefined: it is not. */
  readonly lagMs?: number | undefined
  /** SIGSTOP, and SIGKILL only after the other has taken over; else SIGKILL at once. */
  readonly freeze: boolean
  /** Which replica takes its place. Default: the first. */
  readonly place?: number | undefined
  /** The old primary comes back as the replica of the promoted one, where it can; else that one gets a new replica. */
  readonly rejoin?: boolean | undefined
  /** Runs on the promoted server before it takes writes. */
  readonly beforeOpening?: ((ask: Server['ask']) => Promise<void>) | undefined
}

/** A shard that is a primary and its replicas, or a primary alone. Replicas are meant by their place; the first one where none is given. */
export interface ReplicaShard extends Shard {
  /** The primary goes, a replica takes its place, and another server that of the replica. The other replicas have to be there, and follow. */
  failOver(options: FailoverOptions): Promise<Failover>
  /** The server that follows the primary at this place now. */
  replica(place?: number): Server
  /** The replica goes on receiving, and shows nothing new. */
  stopReplaying(place?: number): Promise<void>
  /** It follows again, also when it was restarted. */
  startReplaying(place?: number): Promise<void>
  /** From now on the replica shows everything so many seconds late. */
  delayReplica(seconds: number, place?: number): Promise<void>
  /** From now on the replica receives nothing. */
  cutReplica(place?: number): Promise<void>
  /** What the primary says of its semi-synchronous replication. */
  semiSyncStatus(): Promise<SemiSyncStatus>
}

export interface SemiSyncStatus {
  /** Whether commits wait for a replica. */
  readonly wasSemiSync: boolean
  /** Commits that did not. */
  readonly unconfirmed: number
}

/** A commit waits for the replica for as long as it takes. */
const SEMI_SYNC_TIMEOUT_MS = 3_600_000
const WAIT_SECONDS = 120

interface Group {
  readonly mode: ReplicationMode
  readonly replicas: Server[]
  /** The next replica is made ready while nothing happens, so that its start is no part of a failover. */
  spare: Promise<Server>
}

export interface ReplicaClusterOptions {
  readonly mode: ReplicationMode
  readonly shards: number
  /** The numbers of the shards that have replicas. */
  readonly replicated: readonly number[]
  /** How many each of them has. Default: 1. */
  readonly replicas?: number | undefined
}

/** A cluster in which some shards are a primary and its replicas. */
export function startReplicaCluster(options: ReplicaClusterOptions): Promise<Cluster<ReplicaShard>> {
  const { mode, shards, replicated, replicas = 1 } = options
  const replication = replicationHere()
  return assembleCluster(shards, replication.settings, (servers, number) =>
    startReplicaShard(servers, replication, replicated.includes(number) ? mode : undefined, replicas),
  )
}

/** Without a mode the primary is alone. */
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
    // While it is on, all that is acknowledged up to this very moment is with the replica.
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
      // No commit would be answered before there is a replica again.
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

  /** All that is acknowledged is with the replica that is to be promoted, and the others have nothing that it has not. */
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
      // Whoever started them removes them.
      await group?.spare.catch(() => undefined)
    },
  }
}

/** What is said to servers, in the words of their kind. */
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

    /** Makes a server the replica of another, from its beginning or from where it is, and waits until it has everything. */
    async follow(replica: Server, primary: Server, mode: ReplicationMode): Promise<void> {
      const { hostname, port, username, password } = primary.url
      await replica.ask('SET GLOBAL read_only = ON')
      await replica.ask(`SET GLOBAL ${semiSyncReplica}_enabled = ${mode === 'semi-sync' ? 'ON' : 'OFF'}`)
      const source = { host: hostname, port: Number(port), user: username, password }
      await replica.ask(replication.follow(source))
      await replica.ask(replication.start)
      await reach(replica, await position(primary))
    },

    /** Everything that the replica has received is applied before anybody writes: some of it may be acknowledged. */
    async promote(replica: Server): Promise<void> {
      await replica.ask(replication.stopReceiving)
      const status = (await replica.ask(replication.status))[0]
      await reach(replica, String(status?.[replication.received]).replaceAll('\n', ''))
      await replica.ask(replication.stop)
      await replica.ask(replication.forget)
      await replica.ask('SET GLOBAL read_only = OFF')
    },

    /** Starts a primary that was killed as a replica to be. */
    async demote(server: Server): Promise<void> {
      if (replication.rejoin === undefined) throw new Error('Such a server cannot come back as a replica.')
      await server.restart(replication.rejoin.arguments)
      await server.ask(replication.rejoin.statement)
    },

    /** From now on a commit is acknowledged when a replica has received it. */
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
