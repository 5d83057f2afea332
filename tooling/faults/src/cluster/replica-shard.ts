import { setTimeout as sleep } from 'node:timers/promises'
import { moment } from '../history/records.ts'
import { startFaultProxy } from '../proxy/fault-proxy.ts'
import type { RunningShard } from './cluster.ts'
import type { ReplicaServer, ReplicaServers } from './replica-server.ts'

/** `semi-sync`: a commit is acknowledged when the replica has it. `asynchronous`: the replica follows as it can. */
export type ReplicationMode = 'semi-sync' | 'asynchronous'

/** A failover as it happened. Moments are those of histories. */
export interface Failover {
  /** All that was acknowledged before this was with the replica. */
  readonly caughtUpAt: number
  /** Whatever the old primary answered, it answered before this. */
  readonly goneAt: number
  /** From here on statements reached the promoted server. */
  readonly openedAt: number
  /** Whether semi-synchronous replication was on when the primary went, by its own word. */
  readonly wasSemiSync: boolean
  /** Commits that it had made without waiting for the replica, by its own word. */
  readonly unconfirmed: number
}

export interface FailoverOptions {
  /** The replica is cut off so long before the primary goes. Undefined: it is not. */
  readonly lagMs?: number | undefined
  /** SIGSTOP, and SIGKILL only after the other has taken over; else SIGKILL at once. */
  readonly freeze: boolean
  /** The old primary comes back as the replica of the promoted one; else that one gets a new replica. */
  readonly rejoin?: boolean | undefined
  /** Runs on the promoted server before it takes writes. */
  readonly beforeOpening?: ((ask: ReplicaServer['ask']) => Promise<void>) | undefined
}

/** A shard that is a primary and its replica, or a primary alone. */
export interface ReplicaShard extends RunningShard {
  /** The primary goes, the replica takes its place, and gets a replica of its own. */
  failOver(options: FailoverOptions): Promise<Failover>
  /** Says something to the replica. */
  askReplica: ReplicaServer['ask']
}

/** A commit waits for the replica for as long as it takes. */
const SEMI_SYNC_TIMEOUT_MS = 3_600_000
const WAIT_SECONDS = 30

interface Pair {
  readonly mode: ReplicationMode
  replica: ReplicaServer
  /** The next replica is made ready while nothing happens, so that its start is no part of a failover. */
  spare: Promise<ReplicaServer>
}

/** Without a mode the primary is alone. */
export async function startReplicaShard(
  servers: ReplicaServers,
  mode: ReplicationMode | undefined,
): Promise<ReplicaShard> {
  let primary = await servers.start()
  const pair = mode === undefined ? undefined : await pairUp(mode)
  const proxy = await startFaultProxy(primary.port)

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

  function startSpare(): Promise<ReplicaServer> {
    const spare = servers.start()
    spare.catch(() => undefined)
    return spare
  }

  async function failOver(
    own: Pair,
    { lagMs, freeze, rejoin = false, beforeOpening }: FailoverOptions,
  ): Promise<Failover> {
    const { mode: chosen, replica } = own
    let caughtUpAt = moment()
    if (lagMs !== undefined) {
      await reach(replica, await binlogPosition(primary))
      await replica.ask('STOP SLAVE IO_THREAD')
      await sleep(lagMs)
    }
    const status = await semiSyncStatus(primary)
    // While it is on, all that is acknowledged up to this very moment is with the replica.
    if (lagMs === undefined) caughtUpAt = moment()
    const old = primary
    if (freeze) old.freeze()
    else await old.kill()
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
    proxy.setTarget(primary.port)
    proxy.resetAll()
    if (!rejoin) await old.remove()
    if (chosen === 'asynchronous') await followed()
    if (!rejoin) own.spare = startSpare()
    return { caughtUpAt, goneAt, openedAt, ...status }
  }

  return {
    proxy,
    crashes: 0,
    admin: (statement) => primary.ask(statement),
    kill: () => primary.kill(),
    restart: () => primary.restart(),
    url(database) {
      const { url } = primary
      url.pathname = `/${database}`
      return url.href
    },
    failOver: (options) => failOver(paired(), options),
    askReplica: (statement) => paired().replica.ask(statement),
    async stop() {
      await proxy.close()
      // Whoever started them removes them.
      await pair?.spare.catch(() => undefined)
    },
  }
}

async function binlogPosition(server: ReplicaServer): Promise<string> {
  return String((await server.ask('SELECT @@GLOBAL.gtid_binlog_pos AS pos'))[0]?.['pos'])
}

/** Waits until a server has applied everything up to a position. */
async function reach(server: ReplicaServer, position: string): Promise<void> {
  const found = await server.ask(`SELECT MASTER_GTID_WAIT('${position}', ${WAIT_SECONDS}) AS late`)
  if (Number(found[0]?.['late']) !== 0) {
    const status = (await server.ask('SHOW SLAVE STATUS'))[0]
    throw new Error(
      `A replica has not reached ${position} in ${WAIT_SECONDS} s: ${String(status?.['Last_Error'])} ${String(status?.['Last_IO_Error'])}`,
    )
  }
}

/** Makes a server the replica of another, from its beginning, and waits until it has everything. */
async function follow(replica: ReplicaServer, primary: ReplicaServer, mode: ReplicationMode): Promise<void> {
  const { hostname, port, username, password } = primary.url
  await replica.ask('SET GLOBAL read_only = ON')
  await replica.ask(`SET GLOBAL rpl_semi_sync_slave_enabled = ${mode === 'semi-sync' ? 'ON' : 'OFF'}`)
  await replica.ask(
    `CHANGE MASTER TO MASTER_HOST = '${hostname}', MASTER_PORT = ${port}, MASTER_USER = '${username}', ` +
      `MASTER_PASSWORD = '${password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`,
  )
  await replica.ask('START SLAVE')
  await reach(replica, await binlogPosition(primary))
}

/** Everything that the replica has received is applied before anybody writes: some of it may be acknowledged. */
async function promote(replica: ReplicaServer): Promise<void> {
  await replica.ask('STOP SLAVE IO_THREAD')
  const status = (await replica.ask('SHOW SLAVE STATUS'))[0]
  await reach(replica, String(status?.['Gtid_IO_Pos']))
  await replica.ask('STOP SLAVE')
  await replica.ask('RESET SLAVE ALL')
  await replica.ask('SET GLOBAL read_only = OFF')
}

/**
 * Starts a primary that was killed as a replica to be. It may have commits that no replica has received: as a replica of
 * semi-synchronous replication it takes them back when it recovers, for nobody was told of them.
 */
async function demote(server: ReplicaServer): Promise<void> {
  await server.restart(['--read-only', '--init-rpl-role=SLAVE', '--rpl-semi-sync-slave-enabled=ON'])
  await server.ask('SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos')
}

/** From now on a commit is acknowledged when a replica has received it. */
async function confirmCommits(server: ReplicaServer): Promise<void> {
  await server.ask("SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'")
  await server.ask(`SET GLOBAL rpl_semi_sync_master_timeout = ${SEMI_SYNC_TIMEOUT_MS}`)
  await server.ask('SET GLOBAL rpl_semi_sync_master_enabled = ON')
}

async function semiSyncStatus(
  server: ReplicaServer,
): Promise<{ readonly wasSemiSync: boolean; readonly unconfirmed: number }> {
  const rows = await server.ask("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_%'")
  const of = (name: string): string =>
    String(rows.find((row) => row['Variable_name'] === `Rpl_semi_sync_master_${name}`)?.['Value'])
  return {
    wasSemiSync: of('status') === 'ON' && Number(of('clients')) > 0,
    unconfirmed: Number(of('no_tx')),
  }
}
