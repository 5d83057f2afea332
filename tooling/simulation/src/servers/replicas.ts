import type { Shard } from '@looseleaf/core'
import {
  createReferenceReplica,
  withSnapshots,
  type ReferenceShard,
} from '@looseleaf-tooling/kit/reference-driver'
import type { FaultKind } from '../faults/faults.ts'
import type { Flaw } from '../faults/flaws.ts'
import type { ShardMoment, ShardPast } from './shard-past.ts'
import type { Network } from './simulated-driver.ts'

/** A replica of a shard. */
export interface ReplicaServer {
  readonly shard: Shard
  /** Address in the scheduler, distinct from those of shards and other replicas. */
  readonly address: number
  readonly isDown: boolean
  /** Number of starts. A restart closes all connections. */
  readonly starts: number
  /** Sets its tables to the state that it has replayed. Call before each statement. */
  show(): void
}

/** The replicas of all shards. */
export interface Replicas {
  /** Replicas of each shard, by shard number. */
  readonly servers: readonly (readonly ReplicaServer[])[]
  /** Call before every step. */
  pass(): void
  /** Call after a shard has fallen back to the state of one of its replicas. */
  failedOver(shard: number): void
}

export interface ReplicasOptions extends Pick<Network, 'scheduler' | 'random' | 'faults' | 'count'> {
  readonly shards: readonly ReferenceShard[]
  readonly pasts: readonly ShardPast[]
  /** Replicas of each shard. */
  readonly each: number
  readonly now: () => number
  readonly flaw: Flaw | undefined
}

/** Probability per step that a replica replays a change. */
const REPLAYS = 0.3
/** Steps for which a replica pauses, and for which it is down. */
const STOPPED_STEPS = [50, 300, 1500]
const DOWN_STEPS = [3, 20, 200]
/** Greatest number of changes that a restart may lose. */
const LOST_CHANGES = 20
/** Probability that a new server returns in place of a dead one, copied from its primary at some time. */
const IS_ANOTHER = 0.3
/**
 * Probability that a failover takes along a replica that lacks nothing for it; and that a replica left behind
 * is abandoned, per step.
 */
const FOLLOWS = 0.5
const IS_GIVEN_UP = 0.005

interface Server extends ReplicaServer {
  readonly number: number
  isDown: boolean
  starts: number
  /** Log that it replays: its primary's, or that of a former primary. */
  log: readonly ShardMoment[]
  /** Position in the log. */
  at: number
  /** Steps until it continues. */
  remainingSteps: number
}

/**
 * Simulates replicas. Each shows the state of its shard at some time, replays commits in order, and now and
 * then pauses, dies or is promoted. A failover leaves behind the replicas that have more than the promoted
 * one, and some others; these replay what they have received until they are abandoned.
 */
export function createReplicas(options: ReplicasOptions): Replicas {
  const { shards, pasts, each, scheduler, random, count, flaw } = options
  const momentsOf = (number: number): readonly ShardMoment[] => (pasts[number] as ShardPast).moments
  const isAstray = ({ log, number }: Server): boolean => log !== momentsOf(number)
  const strikes = (kind: FaultKind): boolean => random.chance(options.faults()[kind])

  function createServer(primary: ReferenceShard, number: number, place: number): Server {
    const replica = withSnapshots(
      createReferenceReplica(`replica ${place} of ${number}`, options.now),
      options.now,
    )
    let shown: ShardMoment | undefined
    return {
      number,
      shard: withFlawedFloor(replica, primary, flaw),
      address: shards.length + number * each + place,
      isDown: false,
      starts: 1,
      log: momentsOf(number),
      at: 0,
      remainingSteps: 0,
      show() {
        const moment = this.log[this.at]
        if (moment === undefined || moment === shown) return
        shown = moment
        replica.show(moment.state)
      },
    }
  }

  function die(server: Server, what: string): void {
    scheduler.note(`-- ${server.shard.name} ${what}`)
    server.isDown = true
    server.remainingSteps = 1 + random.below(random.pick(DOWN_STEPS))
    scheduler.cut(server.address)
  }

  /** Restarts it unchanged, without its last changes, or as a new server. */
  function comeBack(server: Server): void {
    if (isAstray(server) || random.chance(IS_ANOTHER)) {
      server.log = momentsOf(server.number)
      server.at = random.below(server.log.length)
    } else if (random.chance(0.5)) server.at = Math.max(0, server.at - random.below(LOST_CHANGES))
    server.isDown = false
    server.starts++
    scheduler.note(`-- ${server.shard.name} is back, ${server.log.length - 1 - server.at} changes behind`)
  }

  /** Removes the promoted replica; a new server takes its place. */
  function leave(server: Server): void {
    die(server, 'takes the place of its primary')
    server.log = []
  }

  /** Makes one step of a replica that neither pauses nor is down. */
  function goOn(server: Server): void {
    const behind = server.log.length - 1 - server.at
    if (behind > 0 && random.chance(REPLAYS)) server.at += 1 + random.below(behind)
    if (isAstray(server)) {
      if (random.chance(IS_GIVEN_UP)) die(server, 'is given up')
    } else if (strikes('replicaStops')) {
      count('replicaStops')
      scheduler.note(`-- ${server.shard.name} stops, ${server.log.length - 1 - server.at} changes behind`)
      server.remainingSteps = 1 + random.below(random.pick(STOPPED_STEPS))
    } else if (strikes('replicaDies')) {
      count('replicaDies')
      die(server, 'dies')
    } else if (strikes('replicaPromoted')) {
      // It has everything. Statements in flight to the old primary are lost.
      count('replicaPromoted')
      leave(server)
      scheduler.cut(server.number)
    }
  }

  const servers = shards.map((primary, number) =>
    Array.from({ length: each }, (_, place) => createServer(primary, number, place)),
  )
  return {
    servers,
    pass() {
      for (const server of servers.flat()) {
        if (server.remainingSteps > 0) server.remainingSteps--
        else if (server.isDown) comeBack(server)
        else goOn(server)
      }
    },
    failedOver(number) {
      const own = servers[number] as Server[]
      if (own.length === 0) return
      const had = momentsOf(number)
      for (const server of own)
        if (had[server.at] === server.log[server.at] && random.chance(FOLLOWS)) server.log = had
      leave(random.pick(own))
    },
  }
}

function withFlawedFloor(replica: Shard, { entities }: Shard, flaw: Flaw | undefined): Shard {
  if (flaw !== 'replicas tell the floor of their primary') return replica
  return { ...replica, entities: { ...replica.entities, floor: (options) => entities.floor(options) } }
}
