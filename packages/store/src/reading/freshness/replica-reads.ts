import { isLooseleafError, type Shard } from '@looseleaf/core'
import {
  type Inlined,
  badOption,
  elapsedBy,
  getOrInsert,
  isUndecodable,
  type ConnectionState,
  type ReplicaReadOptions,
} from '@looseleaf/core/internal'
import type { EngineContext, OnUnavailable } from '@looseleaf/index-engine/internal'
import { openedTo, type Looks } from '@looseleaf/protocol/internal'
import { perShard } from '../../calls/per-shard.ts'
import { boundedLanes } from '../../calls/bounded-lanes.ts'
import { createShardLanes, type LanesOf, type LaneStats, type ShardLanes } from '../../calls/shard-lanes.ts'
import type { Observing } from '../../observing/observing.ts'
import { createEntityReader, type EntityReader } from '../entities/entity-reader.ts'
import type { EntityCache } from './entity-cache.ts'
import { createReplicaFollower, type ReplicaFollower } from './replica-follower.ts'
import { createOwnerCheck } from '../owners/owner-check.ts'
import { createSkipping, type Skipping } from '../entities/missing-shards.ts'
import { createSessionTokens } from './session-tokens.ts'

/** The servers that one call reads: for each shard the primary or a replica. */
export interface ReadView {
  shard(number: number): Shard
  lanes(number: number): ShardLanes
  readonly reader: EntityReader
  /** True if there may be replicas among the servers. */
  readonly isReplicated: boolean
  isReplica(number: number): boolean
  /**
   * Returns the moment of `elapsedBy` up to which the servers used so far know every acknowledged write; undefined if all of them are
   * primaries.
   */
  asOf(): number | undefined
  /** Leaves out shards that do not answer; undefined if the call fails because of them. */
  readonly skipping: Skipping | undefined
}

/** A replica as this process knows it. */
export type ReplicaStats = Inlined<{
  readonly name: string
  /** The replica knows every write acknowledged this many milliseconds ago. Undefined if unknown, as while no call reads from replicas. */
  readonly ageMs: number | undefined
  /** Reason why no call reads from it, for people; undefined while calls may. */
  readonly exclusionReason: string | undefined
  readonly connections: ConnectionState | undefined
  /** Numbers of each lane that has been used. */
  readonly lanes: readonly LaneStats[]
}>

/** Properties of a read that decide which replicas may serve it. */
export interface ReadKind {
  /** True if it reads an index. */
  readonly byIndex?: boolean
  /** True if it rejects when it takes too long. The age of a replica counts as time taken, so half of `queryTimeMs` bounds that age. */
  readonly isWhole?: boolean
}

/** Options of a read that decide which servers it reads. */
export type ViewOptions = ReplicaReadOptions & {
  readonly fresh?: boolean | undefined
  readonly onUnavailable?: OnUnavailable | undefined
}

/** The views of primaries, with the cache and without it. */
interface PrimaryViews {
  readonly past: ReadView
  readonly cached: ReadView
  readonly fresh: ReadView
}

export interface ReplicaReads {
  readonly primary: ReadView
  readonly looks: Looks
  /**
   * Calls `work` with the servers that the options ask for, or with the cache in front of primaries. If replicas fail, calls it once more
   * with primaries. Throws `BAD_OPTION` with the name of the call.
   */
  read<T>(
    call: string,
    options: ViewOptions,
    kind: ReadKind,
    work: (view: ReadView) => Promise<T>,
  ): Promise<T>
  sessionToken(): string
  stats(shard: number): readonly ReplicaStats[]
  close(): Promise<void>
}

const DEFAULT_STALENESS_MS = 1_000

interface Replica {
  readonly shard: Shard
  readonly lanes: ShardLanes
}

/** A replica that a call reads, and the number of its opened connections at the last look. */
interface Used {
  readonly shard: ReplicatedShard
  readonly place: number
  readonly opened: number | undefined
}

interface ReplicatedShard {
  readonly replicas: readonly Replica[]
  readonly follower: ReplicaFollower
}

export function createReplicaReads(
  context: EngineContext,
  primaryLanes: LanesOf,
  looks: Looks,
  cache: EntityCache | undefined,
  observing: Observing,
  onWarning: (message: string) => void,
): ReplicaReads {
  const { driver, catalog, time, random } = context
  const now = elapsedBy(time)
  const tokens = createSessionTokens(now, random, catalog.current().storeId)
  const primary: ReadView = {
    shard: (number) => driver.shards[number]!,
    lanes: primaryLanes,
    reader: createEntityReader(context, primaryLanes),
    isReplicated: false,
    isReplica: () => false,
    asOf: () => undefined,
    skipping: undefined,
  }
  const views = (past: ReadView, lanesOf: LanesOf): PrimaryViews => {
    const over = (wrapLanes: EntityCache['over'] | undefined): ReadView => {
      if (wrapLanes === undefined) return past
      const lanes = perShard(driver, (_, number) => wrapLanes(lanesOf(number), number))
      return { ...past, reader: createEntityReader(context, lanes.at) }
    }
    return { past, cached: over(cache?.over), fresh: over(cache?.past) }
  }
  const waiting = views(primary, primaryLanes)
  // The bound is behind the cache, which answers also for a silent shard.
  const boundedPrimaryLanes = perShard(driver, (_, number) => boundedLanes(primaryLanes(number))).at
  const bounded = views(
    { ...primary, reader: createEntityReader(context, boundedPrimaryLanes) },
    boundedPrimaryLanes,
  )
  const replicated = perShard(driver, (shard, number): ReplicatedShard | undefined => {
    const { replicas = [] } = shard
    if (replicas.length === 0) return undefined
    return {
      replicas: replicas.map((replica) => {
        const owners = createOwnerCheck(context, looks, { shard: replica, number, isReplica: true })
        return { shard: replica, lanes: createShardLanes(replica, observing, owners) }
      }),
      follower: createReplicaFollower(context, looks, shard, number, onWarning),
    }
  })
  const hasReplicas = (): boolean => replicated.all().some((shard) => shard !== undefined)
  /** Counts calls, so that equally fresh replicas take turns. */
  let turn = 0

  /** Makes a view that chooses the server of a shard when it is first needed. */
  function choose(
    { maxStalenessMs = DEFAULT_STALENESS_MS, after }: ReplicaReadOptions,
    { byIndex = false, isWhole = false }: ReadKind,
    skipping: Skipping | undefined,
  ): { readonly view: ReadView; readonly used: readonly Used[] } {
    const known = byIndex ? catalog.current() : undefined
    // The other half of the time is for the call itself.
    const bound =
      isWhole && known !== undefined ? Math.min(maxStalenessMs, known.queryTimeMs / 2) : maxStalenessMs
    const begun = now()
    const tokenMoment = after === undefined ? -Infinity : tokens.momentOf(after)
    turn++
    const chosen = new Map<number, Replica | undefined>()
    const used: Used[] = []
    let asOf: number | undefined

    function find(number: number): Replica | undefined {
      const shard = replicated.at(number)
      // Pending rows of one shard cannot be compared with a replica of another, so only primaries serve while rows may be deferred.
      if (shard === undefined || known?.mayDefer) return undefined
      const states = shard.follower.ask(bound)
      for (let i = 0; i < states.length; i++) {
        const place = (turn + i) % states.length
        const state = states[place]!
        // `<=`, because a raise sent at the moment of the token may have been sent before it.
        if (state.asOf === undefined || state.asOf < begun - bound || state.asOf <= tokenMoment) continue
        // With another catalog it may have an older layout, or other indexes.
        if (state.epoch !== catalog.latest().epochs[number]) continue
        const replica = shard.replicas[place]!
        if (openedTo(replica.shard) !== state.opened) continue
        used.push({ shard, place, opened: state.opened })
        asOf = Math.min(asOf ?? Infinity, state.asOf)
        return replica
      }
      return undefined
    }

    function replicaOf(number: number): Replica | undefined {
      if (!chosen.has(number)) chosen.set(number, find(number))
      return chosen.get(number)
    }

    const lanes = (number: number): ShardLanes => replicaOf(number)?.lanes ?? primaryLanes(number)
    const view: ReadView = {
      shard: (number) => replicaOf(number)?.shard ?? driver.shards[number]!,
      lanes,
      reader: createEntityReader(context, skipping === undefined ? lanes : boundedOnce(lanes)),
      isReplicated: true,
      isReplica: (number) => replicaOf(number) !== undefined,
      asOf: () => asOf,
      skipping,
    }
    return { view, used }
  }

  /** Returns true if the replica has opened no connection since it was judged, so that no other server has answered. */
  const isSame = ({ shard: { replicas }, place, opened }: Used): boolean =>
    openedTo(replicas[place]!.shard) === opened

  /** Returns true if primaries may succeed where this error came from replicas. Leaves out the replica that failed. */
  function isOfReplicas(error: unknown, used: readonly Used[]): boolean {
    // The copy of the body on the replica may be damaged.
    if (isUndecodable(error)) return used.length > 0
    if (!isLooseleafError(error)) return false
    const failed = used.find(({ shard, place }) => shard.replicas[place]!.shard.name === error.shard)
    failed?.shard.follower.failed(failed.place, error.message)
    return failed !== undefined
  }

  /** Chooses the view of a call that reads primaries. Rows of the cache may be older than a token, so a call with one bypasses it. */
  function primaryView(
    { from, fresh, after }: ViewOptions,
    { byIndex }: ReadKind,
    skipping: Skipping | undefined,
  ): ReadView {
    const of = skipping === undefined ? waiting : bounded
    const isPast = byIndex || from === 'replica' || (after !== undefined && !fresh)
    const view = isPast ? of.past : fresh ? of.fresh : of.cached
    return skipping === undefined ? view : { ...view, skipping }
  }

  async function readReplicas<T>(
    options: ViewOptions,
    kind: ReadKind,
    skipping: Skipping | undefined,
    work: (view: ReadView) => Promise<T>,
  ): Promise<T> {
    const { view, used } = choose(options, kind, skipping)
    try {
      const found = await work(view)
      if (used.every(isSame)) return found
    } catch (error) {
      if (!isOfReplicas(error, used)) throw error
    }
    return work(primaryView(options, kind, skipping))
  }

  return {
    primary,
    looks,
    // Not async, because one more promise per call is measurable.
    read(call, options, kind, work) {
      const { from = 'primary', maxStalenessMs, after } = options
      if (after !== undefined) tokens.requireOwn(call, after)
      const skipping = options.onUnavailable === 'skip' ? createSkipping(context) : undefined
      if (from === 'primary') {
        if (maxStalenessMs === undefined) return work(primaryView(options, kind, skipping))
        throw badOption(
          `${call} is given maxStalenessMs without from: 'replica'; a primary is never too old.`,
        )
      }
      if (options.fresh)
        throw badOption(
          `${call} is given fresh and from: 'replica'; what is read from a replica goes past the cache.`,
        )
      if (hasReplicas()) return readReplicas(options, kind, skipping, work)
      return work(primaryView(options, kind, skipping))
    },
    sessionToken: () => tokens.make(),
    stats(number) {
      const shard = replicated.at(number)
      if (shard === undefined) return []
      const states = shard.follower.states()
      return shard.replicas.map(({ shard: replica, lanes }, place) => {
        const { asOf, exclusionReason } = states[place]!
        return {
          name: replica.name,
          ageMs: asOf === undefined ? undefined : now() - asOf,
          exclusionReason,
          connections: replica.connections?.(),
          lanes: lanes.stats(),
        }
      })
    },
    async close() {
      await Promise.all(replicated.all().map((shard) => shard?.follower.close()))
    },
  }
}

/** Returns bounded lanes, the same object for the same lanes. */
function boundedOnce(lanesOf: LanesOf): LanesOf {
  const made = new Map<ShardLanes, ShardLanes>()
  return (number) => getOrInsert(made, lanesOf(number), boundedLanes)
}
