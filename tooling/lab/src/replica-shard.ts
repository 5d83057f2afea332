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
  /** The old primary comes back as the replica of the promoted one, where it can; else that one gets a new replica. */
  readonly rejoin?: boolean | undefined
  /** Runs on the promoted server before it takes writes. */
  readonly beforeOpening?: ((ask: Server['ask']) => Promise<void>) | undefined
}

/** A shard that is a primary and its replica, or a primary alone. */
export interface ReplicaShard extends Shard {
  /** The primary goes, the replica takes its place, and gets a replica of its own. */
  failOver(options: FailoverOptions): Promise<Failover>
  /** The server that follows the primary now. */
  replica(): Server
  /** The replica goes on receiving, and shows nothing new. */
  stopReplaying(): Promise<void>
  /** It follows again, also when it was restarted. */
  startReplaying(): Promise<void>
  /** From now on the replica shows everything so many seconds late. */
  delayReplica(seconds: number): Promise<void>
  /** From now on the replica receives nothing. */
  cutReplica(): Promise<void>
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

interface Pair {
  readonly mode: ReplicationMode
  replica: Server
  /** The next replica is made ready while nothing happens, so that its start is no part of a failover. */
  spare: Promise<Server>
}

export interface ReplicaClusterOptions {
  readonly mode: ReplicationMode
  readonly shards: number
  /** The numbers of the shards that have a replica. */
  readonly replicated: readonly number[]
}

/** A cluster in which some shards are pairs of a primary and its replica. */
export function startReplicaCluster(options: ReplicaClusterOptions): Promise<Cluster<ReplicaShard>> {
  const { mode, shards, replicated } = options
  const replication = replicationHere()
  return assembleCluster(shards, replication.settings, (servers, number) =>
    startReplicaShard(servers, replication, replicated.includes(number) ? mode : undefined),
  )
}

/** Without a mode the primary is alone. */
async function startReplicaShard(
  servers: Servers,
  replication: Replication,
  mode: ReplicationMode | undefined,
): Promise<ReplicaShard> {
  const { semiSyncStatus, confirmCommits, position, reach, follow, promote, demote } =
    statementsOf(replication)
  let primary = await servers.start()
  const pair = mode === undefined ? undefined : await pairUp(mode)
  const shard = await startShard(primary)

  async function pairUp(chosen: ReplicationMode): Promise<Pair> {
    if (chosen === 'semi-sync') await confirmCommits(primary)
    const replica = await servers.start()
    await follow(replica, primary, chosen)
    return { mode: chosen, replica, spare: startSpare() }
  }

  function paired(): Pair {
    if (pair === undefined) throw new Error('This shard has no replica.')
    return pair
  }

  function startSpare(): Promise<Server> {
    const spare = servers.start()
    spare.catch(() => undefined)
    return spare
  }

  async function failOver(
    own: Pair,
    { lagMs, freeze, rejoin: mayRejoin = false, beforeOpening }: FailoverOptions,
  ): Promise<Failover> {
    const rejoin = mayRejoin && replication.rejoin !== undefined
    const { mode: chosen, replica } = own
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
      if (rejoin) {
        await demote(old)
        own.replica = old
      } else own.replica = await own.spare
      await follow(own.replica, primary, chosen)
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

  return {
    ...shard,
    failOver: (options) => failOver(paired(), options),
    replica: () => paired().replica,
    stopReplaying: async () => void (await paired().replica.ask(replication.stopReplaying)),
    startReplaying: async () => void (await paired().replica.ask(replication.start)),
    async delayReplica(seconds) {
      const { replica } = paired()
      await replica.ask(replication.stop)
      await replica.ask(replication.delay(seconds))
      await replica.ask(replication.start)
    },
    async cutReplica() {
      await paired().replica.ask(replication.stopReceiving)
    },
    semiSyncStatus: () => semiSyncStatus(primary),
    async stop() {
      await shard.stop()
      // Whoever started them removes them.
      await pair?.spare.catch(() => undefined)
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

    /** Makes a server the replica of another, from its beginning, and waits until it has everything. */
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
