import type { Shard } from '@looseleaf/core'
import { createReferenceReplica, type ReferenceShard } from '@looseleaf-tooling/reference-driver'
import type { FaultKind } from './faults.ts'
import type { Flaw } from './flaws.ts'
import type { ShardMoment, ShardPast } from './shard-past.ts'
import type { Network } from './simulated-driver.ts'

/** A server that follows a shard. */
export interface ReplicaServer {
  readonly shard: Shard
  /** Where statements to it go, in the scheduler: no shard and no other replica has it. */
  readonly address: number
  readonly isDown: boolean
  /** How often it was started: whoever was connected before is not any more. */
  readonly starts: number
  /** Its tables hold what it has replayed; before each statement that comes to it. */
  show(): void
}

/** The replicas of all shards. */
export interface Replicas {
  /** Of each shard, by number. */
  readonly servers: readonly (readonly ReplicaServer[])[]
  /** Before every step. */
  pass(): void
  /** After a shard has fallen back to what one of them had. */
  failedOver(shard: number): void
}

export interface ReplicasOptions extends Pick<Network, 'scheduler' | 'random' | 'faults' | 'count'> {
  readonly shards: readonly ReferenceShard[]
  readonly pasts: readonly ShardPast[]
  /** Replicas of each. */
  readonly each: number
  readonly now: () => number
  readonly flaw: Flaw | undefined
}

/** How likely one that replays gets on at a step. */
const REPLAYS = 0.3
/** Steps for which one stands still, and for which one is gone. */
const STOPPED_STEPS = [50, 300, 1500]
const DOWN_STEPS = [3, 20, 200]
/** As many changes may be gone with a restart. */
const LOST_CHANGES = 20
/** How likely one that comes back is another server, made from what its primary had at some moment. */
const IS_ANOTHER = 0.3
/** How likely a failover takes one along that lacks nothing for it, and how likely one that it has not is given up at a step. */
const FOLLOWS = 0.5
const IS_GIVEN_UP = 0.005

interface Server extends ReplicaServer {
  readonly number: number
  isDown: boolean
  starts: number
  /** What it replays: of its primary, or of one that is gone. */
  log: readonly ShardMoment[]
  /** How far it is. */
  at: number
  /** Steps until it goes on. */
  left: number
}

/**
 * Each replica shows what its shard had at some moment, goes on in the order of commits, and now and then stops, dies or is promoted. A
 * failover leaves behind those that have what the promoted one lacks, and some others: these replay what they have received, until
 * they are given up.
 */
export function createReplicas(options: ReplicasOptions): Replicas {
  const { shards, pasts, each, scheduler, random, count, flaw } = options
  const momentsOf = (number: number): readonly ShardMoment[] => (pasts[number] as ShardPast).moments
  const isAstray = ({ log, number }: Server): boolean => log !== momentsOf(number)
  const strikes = (kind: FaultKind): boolean => random.chance(options.faults()[kind])

  function createServer(primary: ReferenceShard, number: number, place: number): Server {
    const replica = createReferenceReplica(`replica ${place} of ${number}`, options.now)
    let shown: ShardMoment | undefined
    return {
      number,
      shard: withFlawedFloor(replica, primary, flaw),
      address: shards.length + number * each + place,
      isDown: false,
      starts: 1,
      log: momentsOf(number),
      at: 0,
      left: 0,
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
    server.left = 1 + random.below(random.pick(DOWN_STEPS))
    scheduler.cut(server.address)
  }

  /** As it was, without its last changes, or as another one. */
  function comeBack(server: Server): void {
    if (isAstray(server) || random.chance(IS_ANOTHER)) {
      server.log = momentsOf(server.number)
      server.at = random.below(server.log.length)
    } else if (random.chance(0.5)) server.at = Math.max(0, server.at - random.below(LOST_CHANGES))
    server.isDown = false
    server.starts++
    scheduler.note(`-- ${server.shard.name} is back, ${server.log.length - 1 - server.at} changes behind`)
  }

  /** It is the primary now, and another server takes its place. */
  function leave(server: Server): void {
    die(server, 'takes the place of its primary')
    server.log = []
  }

  /** One step of one that is not held up. */
  function goOn(server: Server): void {
    const behind = server.log.length - 1 - server.at
    if (behind > 0 && random.chance(REPLAYS)) server.at += 1 + random.below(behind)
    if (isAstray(server)) {
      if (random.chance(IS_GIVEN_UP)) die(server, 'is given up')
    } else if (strikes('replicaStops')) {
      count('replicaStops')
      scheduler.note(`-- ${server.shard.name} stops, ${server.log.length - 1 - server.at} changes behind`)
      server.left = 1 + random.below(random.pick(STOPPED_STEPS))
    } else if (strikes('replicaDies')) {
      count('replicaDies')
      die(server, 'dies')
    } else if (strikes('replicaPromoted')) {
      // It has everything; what was on its way to the old primary is lost.
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
        if (server.left > 0) server.left--
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
