import {
  elapsedBy,
  isLooseleafError,
  isOutage,
  type ConnectionState,
  type ReplicaReadOptions,
  type Shard,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { createShardLanes, type LaneStats, type ShardLanes } from '../calls/shard-lanes.ts'
import type { Observing } from '../observing/observing.ts'
import { createEntityReader, type EntityReader } from './entity-reader.ts'
import { createReplicaFollower, openedTo, type ReplicaFollower } from './replica-follower.ts'
import { createSessionTokens } from './session-tokens.ts'

/** The servers that one call reads, one of each shard. */
export interface ReadView {
  readonly shards: readonly Shard[]
  readonly lanes: readonly ShardLanes[]
  readonly reader: EntityReader
  /** They know everything that was acknowledged before this moment of `elapsedBy`; undefined where all are primaries. */
  readonly asOf: number | undefined
}

/** A replica as this process knows it. */
export interface ReplicaStats {
  readonly name: string
  /** It knows everything that was acknowledged so many milliseconds ago; undefined where that is not known, as while nobody reads from replicas. */
  readonly ageMs: number | undefined
  /** Why nothing is read from it, in words; undefined where it may be read. */
  readonly leftOut: string | undefined
  readonly connections: ConnectionState | undefined
  /** Of each lane that has sent something. */
  readonly lanes: readonly LaneStats[]
}

/** Chooses where calls read. */
export interface ReplicaReads {
  readonly primary: ReadView
  /**
   * Does a read where its options say. `byIndex`: by an index, so that replicas have to have the very catalog that this process
   * goes by. What fails on a replica is done again on primaries.
   */
  read<T>(
    options: ReplicaReadOptions,
    work: (view: ReadView) => Promise<T>,
    kind?: { readonly byIndex: boolean },
  ): Promise<T>
  sessionToken(): string
  /** Of each shard. */
  stats(): readonly (readonly ReplicaStats[])[]
  close(): Promise<void>
}

const DEFAULT_STALENESS_MS = 1_000

interface Replica {
  readonly shard: Shard
  readonly lanes: ShardLanes
}

/** A replica that is read, and its connections when it was last looked at. */
interface Used {
  readonly shard: Shard
  readonly opened: number
}

interface ReplicaView {
  readonly view: ReadView
  readonly used: readonly Used[]
}

interface ReplicatedShard {
  readonly replicas: readonly Replica[]
  readonly follower: ReplicaFollower
}

export function createReplicaReads(
  context: EngineContext,
  primaryLanes: readonly ShardLanes[],
  reader: EntityReader,
  observing: Observing,
  onWarning: (message: string) => void,
): ReplicaReads {
  const { driver, router, codec, catalog, time, random } = context
  const now = elapsedBy(time)
  const tokens = createSessionTokens(now, random)
  const primary: ReadView = { shards: driver.shards, lanes: primaryLanes, reader, asOf: undefined }
  const replicated = driver.shards.map((shard, number): ReplicatedShard | undefined => {
    const { replicas = [] } = shard
    if (replicas.length === 0) return undefined
    return {
      replicas: replicas.map((replica) => ({ shard: replica, lanes: createShardLanes(replica, observing) })),
      follower: createReplicaFollower(context, shard, number, onWarning),
    }
  })
  const hasReplicas = replicated.some((one) => one !== undefined)
  /** Counts calls, so that replicas that are equally good take turns. */
  let turn = 0

  function choose(
    { maxStalenessMs = DEFAULT_STALENESS_MS, after }: ReplicaReadOptions,
    byIndex: boolean,
  ): ReplicaView | undefined {
    const known = byIndex ? catalog.current() : undefined
    const begun = now()
    const behind = after === undefined ? -Infinity : tokens.momentOf(after)
    turn++
    let asOf: number | undefined
    const shards = [...driver.shards]
    const lanes = [...primaryLanes]
    const used: Used[] = []
    for (const [number, one] of replicated.entries()) {
      const states = one?.follower.ask(maxStalenessMs) ?? []
      // What is pending on one shard cannot be held against what a replica of another one has.
      if (known?.mayDefer) continue
      for (let i = 0; i < states.length; i++) {
        const place = (turn + i) % states.length
        const state = states[place]!
        // A raise that was sent in the very moment of a token may have been sent before it.
        if (state.asOf === undefined || state.asOf < begun - maxStalenessMs || state.asOf <= behind) continue
        if (known !== undefined && state.epoch !== known.epochs[number]) continue
        const replica = one!.replicas[place]!
        if (openedTo(replica.shard) !== state.opened) continue
        used.push({ shard: replica.shard, opened: state.opened })
        shards[number] = replica.shard
        lanes[number] = replica.lanes
        asOf = Math.min(asOf ?? Infinity, state.asOf)
        break
      }
    }
    return asOf === undefined
      ? undefined
      : { view: { shards, lanes, reader: createEntityReader(router, codec, lanes), asOf }, used }
  }

  /** Whether it was a replica that has failed; if it is out of reach, it is left out. */
  function isOfReplica(error: unknown): boolean {
    if (!isLooseleafError(error) || error.shard === undefined) return false
    for (const one of replicated) {
      const place = one?.replicas.findIndex(({ shard }) => shard.name === error.shard) ?? -1
      if (place === -1) continue
      if (isOutage(error)) one!.follower.failed(place, error.message)
      return true
    }
    return false
  }

  return {
    primary,
    async read(options, work, { byIndex } = { byIndex: false }) {
      if (options.from !== 'replica' || !hasReplicas) return work(primary)
      const chosen = choose(options, byIndex)
      if (chosen === undefined) return work(primary)
      try {
        const found = await work(chosen.view)
        if (chosen.used.every(({ shard, opened }) => openedTo(shard) === opened)) return found
        return await work(primary)
      } catch (error) {
        if (!isOfReplica(error)) throw error
        return work(primary)
      }
    },
    sessionToken: () => tokens.make(),
    stats: () =>
      replicated.map((one) =>
        (one?.replicas ?? []).map(({ shard, lanes }, place) => {
          const { asOf, leftOut } = one!.follower.states()[place]!
          return {
            name: shard.name,
            ageMs: asOf === undefined ? undefined : now() - asOf,
            leftOut,
            connections: shard.connections?.(),
            lanes: lanes.stats(),
          }
        }),
      ),
    async close() {
      await Promise.all(replicated.map((one) => one?.follower.close()))
    },
  }
}
