import { formatId, type EntityId } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/kit/random'
import { chooseFaults, type FaultKind, type Faults, type Part } from './faults.ts'

/** Choices of a seed before the first event. */
export interface Circumstances {
  readonly faults: Faults
  readonly writeOrder: 'index-first' | 'entity-first'
  readonly onIndexFailure: 'fail' | 'defer'
  readonly deleteDelayMs: number
  readonly queryTimeMs: number
  /**
   * Greatest offset of processes' clocks from the databases' clock, in either direction. Well below
   * `deleteDelayMs`.
   */
  readonly maxSkewMs: number
  /**
   * State that a failover undoes: the last commits of entities, or of all tables of the shard, including
   * catalog and layout.
   */
  readonly failoverOf: 'entities' | 'everything'
  readonly ids: readonly EntityId[]
  /** Whether all entities have one bucket, and most of their index rows are on its shard. */
  readonly isNear: boolean
  /**
   * Work of the clients: everything; moving entities between shards in one index and searching them there; or
   * everything while entities compete for keys of unique indexes.
   */
  readonly clients: (typeof clientKinds)[number]
  /** Number of different names to compete for. */
  readonly names: number
  /** Replicas of each shard, which clients read. */
  readonly replicasEach: number
  /** Staleness bound of the shared cache; 0 if there is none. */
  readonly cacheMs: number
  /** Moves of buckets and other actions of each mover. */
  readonly moves: number
  /** Whether a third shard may join. */
  readonly mayJoin: boolean
  /** Whether processes share a consumer of the changes. */
  readonly hasConsumer: boolean
  /** Whether movers may remove a shard. */
  readonly mayRemove: boolean
  /** Whether administrators add, change and drop indexes. */
  readonly hasAdministrators: boolean
  /** Number of movers; 0 if nothing moves. */
  readonly movers: number
}

export const clientKinds = ['everything', 'rows', 'keys'] as const

/** A query takes some tens of milliseconds, or some hundreds if one of its statements is slow. */
const QUERY_TIMES_MS = [50, 300, 1500]
/**
 * Mostly few, so that clients meet; sometimes more, so that a write can be held up without being replaced.
 */
const MOST_ENTITIES = [4, 4, 4, 40]
const MOST_MOVES = 3
const MOST_MOVERS = 2
const CACHES_MS = [300, 1000, 4000]

export function chooseCircumstances(
  random: Random,
  allowed: readonly FaultKind[],
  parts: ReadonlySet<Part>,
  given?: Circumstances['clients'],
): Circumstances {
  const faults = chooseFaults(random, allowed, parts)
  const writeOrder = random.chance(0.12) ? 'entity-first' : 'index-first'
  const mayDefer = random.chance(0.35) && writeOrder === 'index-first'
  const hasDelay = random.chance(0.1) || faults.failover > 0
  const deleteDelayMs = hasDelay ? random.pick([40, 150, 600]) : 0
  const worstSkewMs = hasDelay ? deleteDelayMs / 4 : 120_000
  const ids = Array.from({ length: 1 + random.below(random.pick(MOST_ENTITIES)) }, () => anyId(random))
  const chosen = {
    faults,
    writeOrder,
    onIndexFailure: mayDefer ? 'defer' : 'fail',
    deleteDelayMs,
    queryTimeMs: random.pick(QUERY_TIMES_MS),
    maxSkewMs: random.chance(0.5) ? 0 : random.below(worstSkewMs),
    failoverOf: random.chance(0.75) ? 'entities' : 'everything',
    ids: parts.has('near') ? ids.map((id) => nearId(id, ids[0]!)) : ids,
    isNear: parts.has('near'),
  } as const
  const drawn = chooseClients(random)
  const clients = given ?? drawn
  return {
    ...chosen,
    clients,
    names: clients === 'keys' ? random.pick([2, 4, 6]) : 0,
    replicasEach: parts.has('replicas') ? 1 + random.below(2) : 0,
    cacheMs: parts.has('cache') ? random.pick(CACHES_MS) : 0,
    moves: parts.has('moves') ? 1 + random.below(MOST_MOVES) : 0,
    mayJoin: parts.has('moves') && random.chance(0.5),
    movers: parts.has('moves') ? 1 + random.below(MOST_MOVERS) : 0,
    hasConsumer: parts.has('moves') && random.chance(0.5),
    mayRemove: parts.has('moves') && random.chance(0.4),
    hasAdministrators: true,
  }
}

function chooseClients(random: Random): Circumstances['clients'] {
  const drawn = random.next()
  return drawn < 0.25 ? 'rows' : drawn < 0.45 ? 'keys' : 'everything'
}

function anyId(random: Random): EntityId {
  const versionAndVariant = (i: number): number => (i === 6 ? 0x70 : i === 8 ? 0x80 : 0)
  return formatId(
    Uint8Array.from({ length: 16 }, (_, i) => versionAndVariant(i) | random.below(i === 6 ? 16 : 64)),
  )
}

/** Gives an id the bucket of another one: the last three digits of its third group. */
function nearId(id: EntityId, near: EntityId): EntityId {
  return `${id.slice(0, 15)}${near.slice(15, 18)}${id.slice(18)}` as EntityId
}
