import {
  elapsedBy,
  isLooseleafError,
  LooseleafError,
  type ErrorCode,
  type ConnectionState,
  type ReplicaReadOptions,
  type Shard,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { openedTo } from '@looseleaf/protocol'
import { createShardLanes, type LaneStats, type ShardLanes } from '../calls/shard-lanes.ts'
import type { Observing } from '../observing/observing.ts'
import { createEntityReader, type EntityReader } from './entity-reader.ts'
import { createReplicaFollower, type ReplicaFollower } from './replica-follower.ts'
import { createSessionTokens } from './session-tokens.ts'

/** The servers that one call reads, one of each shard that it needs. */
export interface ReadView {
  shard(number: number): Shard
  lanes(number: number): ShardLanes
  readonly reader: EntityReader
  /** Whether there may be replicas among them. */
  readonly isReplicated: boolean
  /** Whether that of a shard is a replica. */
  isReplica(number: number): boolean
  /**
   * Those that were needed so far know everything that was acknowledged before this moment of `elapsedBy`; undefined where all are
   * primaries.
   */
  asOf(): number | undefined
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

/** How a call reads. */
export interface ReadKind {
  /** By an index, so that replicas have to have the very catalog that this process goes by. */
  readonly byIndex?: boolean
  /** Its answer is whole or an error, so that what is old already leaves no time for it. */
  readonly isWhole?: boolean
}

type ViewOptions = ReplicaReadOptions & { readonly fresh?: boolean | undefined }

/** Chooses where calls read. */
export interface ReplicaReads {
  readonly primary: ReadView
  /** Does the read of a call of this name where its options say. What fails on a replica is done again on primaries. */
  read<T>(
    call: string,
    options: ViewOptions,
    work: (view: ReadView) => Promise<T>,
    kind?: ReadKind,
  ): Promise<T>
  sessionToken(): string
  /** Throws `BAD_OPTION` for a token of another store, where there is one. */
  requireOwn(call: string, after: string | undefined): void
  /** Of the replicas of a shard. */
  stats(shard: number): readonly ReplicaStats[]
  close(): Promise<void>
}

/** Whether a call asks for replicas, or has options of theirs that `read` refuses. */
export function isReplicaRead({ from, maxStalenessMs }: ReplicaReadOptions): boolean {
  return from === 'replica' || maxStalenessMs !== undefined
}

const DEFAULT_STALENESS_MS = 1_000
const damages: ReadonlySet<ErrorCode> = new Set(['BODY_DAMAGED', 'BODY_UNKNOWN', 'BODY_TOO_LARGE'])

interface Replica {
  readonly shard: Shard
  readonly lanes: ShardLanes
}

/** A replica that is read, and its connections when it was last looked at. */
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
  const { driver, router, codec, catalog, time, random } = context
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
  const hasReplicas = replicated.some((one) => one !== undefined)
  /** Counts calls, so that replicas that are equally good take turns. */
  let turn = 0

  /** Chooses a server of each shard when it is needed first. */
  function choose(
    { maxStalenessMs = DEFAULT_STALENESS_MS, after }: ReplicaReadOptions,
    { byIndex = false, isWhole = false }: ReadKind,
  ): { readonly view: ReadView; readonly used: readonly Used[] } {
    const known = byIndex ? catalog.current() : undefined
    // Half of the time for the call itself.
    const bound =
      isWhole && known !== undefined ? Math.min(maxStalenessMs, known.queryTimeMs / 2) : maxStalenessMs
    const begun = now()
    const behind = after === undefined ? -Infinity : tokens.momentOf(after)
    turn++
    const chosen = new Map<number, Replica | undefined>()
    const used: Used[] = []
    let asOf: number | undefined

    function find(number: number): Replica | undefined {
      const one = replicated[number]
      // What is pending on one shard cannot be held against what a replica of another one has.
      if (one === undefined || known?.mayDefer) return undefined
      const states = one.follower.ask(bound)
      for (let i = 0; i < states.length; i++) {
        const place = (turn + i) % states.length
        const state = states[place]!
        // A raise that was sent in the very moment of a token may have been sent before it.
        if (state.asOf === undefined || state.asOf < begun - bound || state.asOf <= behind) continue
        if (known !== undefined && state.epoch !== known.epochs[number]) continue
        const replica = one.replicas[place]!
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
      reader: createEntityReader(router, codec, lanes),
      isReplicated: true,
      isReplica: (number) => replicaOf(number) !== undefined,
      asOf: () => asOf,
    }
    return { view, used }
  }

  /** Whether what was read by these can be relied on. */
  const isSame = ({ number, place, opened }: Used): boolean =>
    openedTo(replicated[number]!.replicas[place]!.shard) === opened

  /** Whether an error may be that of a replica alone. One that fails is left out; a damaged body may be its own. */
  function isOfReplicas(error: unknown, used: readonly Used[]): boolean {
    if (!isLooseleafError(error)) return false
    if (damages.has(error.code)) return used.length > 0
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
      const one = replicated[number]
      if (one === undefined) return []
      const states = one.follower.states()
      return one.replicas.map(({ shard, lanes }, place) => {
        const { asOf, leftOut } = states[place]!
        return {
          name: shard.name,
          ageMs: asOf === undefined ? undefined : now() - asOf,
          leftOut,
          connections: shard.connections?.(),
          lanes: lanes.stats(),
        }
      })
    },
    async close() {
      await Promise.all(replicated.map((one) => one?.follower.close()))
    },
  }
}

function badOption(call: string, given: string): LooseleafError {
  return new LooseleafError('BAD_OPTION', `${call} is given ${given}.`)
}
