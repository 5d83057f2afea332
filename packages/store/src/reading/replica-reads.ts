import {
  isLooseleafError,
  LooseleafError,
  type ErrorCode,
  type ConnectionState,
  type ReplicaReadOptions,
  type Shard,
} from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { openedTo } from '@looseleaf/protocol/internal'
import { createShardLanes, type LaneStats, type ShardLanes } from '../calls/shard-lanes.ts'
import type { Observing } from '../observing/observing.ts'
import { createEntityReader, type EntityReader } from './entity-reader.ts'
import { createReplicaFollower, type ReplicaFollower } from './replica-follower.ts'
import { createSessionTokens } from './session-tokens.ts'

/** The servers that one call reads: for each shard the primary or a replica. */
export interface ReadView {
  shard(number: number): Shard
  lanes(number: number): ShardLanes
  readonly reader: EntityReader
  /** True if there may be replicas among the servers. */
  readonly isReplicated: boolean
  /** Returns true if the server of this shard is a replica. */
  isReplica(number: number): boolean
  /**
   * Returns the moment of `elapsedBy` up to which the servers used so far know every acknowledged write; undefined if all of them are
   * primaries.
   */
  asOf(): number | undefined
}

/** A replica as this process knows it. */
export interface ReplicaStats {
  readonly name: string
  /** The replica knows every write acknowledged this many milliseconds ago. Undefined if unknown, as while no call reads from replicas. */
  readonly ageMs: number | undefined
  /** Reason why no call reads from it, for people; undefined while calls may. */
  readonly leftOut: string | undefined
  readonly connections: ConnectionState | undefined
  /** Numbers of each lane that has been used. */
  readonly lanes: readonly LaneStats[]
}

/** Properties of a read that decide which replicas may serve it. */
export interface ReadKind {
  /** True if it reads an index. A replica then has to have the same catalog as this process. */
  readonly byIndex?: boolean
  /** True if it rejects when it takes too long. The age of a replica counts as time taken, so half of `queryTimeMs` bounds that age. */
  readonly isWhole?: boolean
}

type ViewOptions = ReplicaReadOptions & { readonly fresh?: boolean | undefined }

/** Chooses the servers that calls read. */
export interface ReplicaReads {
  readonly primary: ReadView
  /** Calls `work` with the servers that the options ask for. If replicas fail, calls it once more with primaries. `call` is for errors. */
  read<T>(
    call: string,
    options: ViewOptions,
    work: (view: ReadView) => Promise<T>,
    kind?: ReadKind,
  ): Promise<T>
  sessionToken(): string
  /** Throws `BAD_OPTION` if the token is one of another store. */
  requireOwn(call: string, after: string | undefined): void
  /** Returns the state of the replicas of a shard. */
  stats(shard: number): readonly ReplicaStats[]
  close(): Promise<void>
}

/** Returns true if a call asks for replicas, or has an option that `read` rejects without them. */
export function isReplicaRead({ from, maxStalenessMs }: ReplicaReadOptions): boolean {
  return from === 'replica' || maxStalenessMs !== undefined
}

const DEFAULT_STALENESS_MS = 1_000
/** Errors that a damaged copy of a body on a replica may cause. */
const DAMAGE_CODES: ReadonlySet<ErrorCode> = new Set(['BODY_DAMAGED', 'BODY_UNKNOWN', 'BODY_TOO_LARGE'])

interface Replica {
  readonly shard: Shard
  readonly lanes: ShardLanes
}

/** A replica that a call reads, and the number of its opened connections at the last look. */
interface Used {
  readonly number: number
  readonly place: number
  readonly opened: number | undefined
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
  const { driver, codec, catalog, time, random } = context
  const now = elapsedBy(time)
  const tokens = createSessionTokens(now, random, catalog.current().storeId)
  const primary: ReadView = {
    shard: (number) => driver.shards[number]!,
    lanes: (number) => primaryLanes[number]!,
    reader,
    isReplicated: false,
    isReplica: () => false,
    asOf: () => undefined,
  }
  const replicated = driver.shards.map((shard, number): ReplicatedShard | undefined => {
    const { replicas = [] } = shard
    if (replicas.length === 0) return undefined
    return {
      replicas: replicas.map((replica) => ({ shard: replica, lanes: createShardLanes(replica, observing) })),
      follower: createReplicaFollower(context, shard, number, onWarning),
    }
  })
  const hasReplicas = replicated.some((shard) => shard !== undefined)
  /** Counts calls, so that equally fresh replicas take turns. */
  let turn = 0

  /** Makes a view that chooses the server of a shard when it is first needed. */
  function choose(
    { maxStalenessMs = DEFAULT_STALENESS_MS, after }: ReplicaReadOptions,
    { byIndex = false, isWhole = false }: ReadKind,
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
      const shard = replicated[number]
      // Pending rows of one shard cannot be compared with a replica of another, so only primaries serve while rows may be deferred.
      if (shard === undefined || known?.mayDefer) return undefined
      const states = shard.follower.ask(bound)
      for (let i = 0; i < states.length; i++) {
        const place = (turn + i) % states.length
        const state = states[place]!
        // `<=`, because a raise sent at the moment of the token may have been sent before it.
        if (state.asOf === undefined || state.asOf < begun - bound || state.asOf <= tokenMoment) continue
        if (known !== undefined && state.epoch !== known.epochs[number]) continue
        const replica = shard.replicas[place]!
        if (openedTo(replica.shard) !== state.opened) continue
        used.push({ number, place, opened: state.opened })
        asOf = Math.min(asOf ?? Infinity, state.asOf)
        return replica
      }
      return undefined
    }

    function replicaOf(number: number): Replica | undefined {
      if (!chosen.has(number)) chosen.set(number, find(number))
      return chosen.get(number)
    }

    const lanes = (number: number): ShardLanes => replicaOf(number)?.lanes ?? primaryLanes[number]!
    const view: ReadView = {
      shard: (number) => replicaOf(number)?.shard ?? driver.shards[number]!,
      lanes,
      reader: createEntityReader(catalog, codec, lanes),
      isReplicated: true,
      isReplica: (number) => replicaOf(number) !== undefined,
      asOf: () => asOf,
    }
    return { view, used }
  }

  /** Returns true if the replica has opened no connection since it was judged, so that no other server has answered. */
  const isSame = ({ number, place, opened }: Used): boolean =>
    openedTo(replicated[number]!.replicas[place]!.shard) === opened

  /** Returns true if primaries may succeed where this error came from replicas. Leaves out the replica that failed. */
  function isOfReplicas(error: unknown, used: readonly Used[]): boolean {
    if (!isLooseleafError(error)) return false
    if (DAMAGE_CODES.has(error.code)) return used.length > 0
    const failed = used.find(
      ({ number, place }) => replicated[number]!.replicas[place]!.shard.name === error.shard,
    )
    if (failed === undefined) return false
    replicated[failed.number]!.follower.failed(failed.place, error.message)
    return true
  }

  function requireOwn(call: string, after: string | undefined): void {
    if (after !== undefined) tokens.requireOwn(call, after)
  }

  return {
    primary,
    requireOwn,
    async read(call, options, work, kind = {}) {
      const { from = 'primary', maxStalenessMs, fresh, after } = options
      requireOwn(call, after)
      if (from === 'primary') {
        if (maxStalenessMs === undefined) return work(primary)
        throw badOption(call, "maxStalenessMs without from: 'replica'; a primary is never too old")
      }
      if (fresh)
        throw badOption(call, "fresh and from: 'replica'; what is read from a replica goes past the cache")
      if (!hasReplicas) return work(primary)
      const { view, used } = choose(options, kind)
      try {
        const found = await work(view)
        if (used.every(isSame)) return found
      } catch (error) {
        if (!isOfReplicas(error, used)) throw error
      }
      return work(primary)
    },
    sessionToken: () => tokens.make(),
    stats(number) {
      const shard = replicated[number]
      if (shard === undefined) return []
      const states = shard.follower.states()
      return shard.replicas.map(({ shard: replica, lanes }, place) => {
        const { asOf, leftOut } = states[place]!
        return {
          name: replica.name,
          ageMs: asOf === undefined ? undefined : now() - asOf,
          leftOut,
          connections: replica.connections?.(),
          lanes: lanes.stats(),
        }
      })
    },
    async close() {
      await Promise.all(replicated.map((shard) => shard?.follower.close()))
    },
  }
}

function badOption(call: string, given: string): LooseleafError {
  return new LooseleafError('BAD_OPTION', `${call} is given ${given}.`)
}
