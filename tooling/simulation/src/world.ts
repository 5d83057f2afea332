import type { CleanerStore } from '@looseleaf/cleaner/internal'
import { msgpackZlibCodec } from '@looseleaf/codec'
import { formatId, type Codec, type EntityId, type Randomness, type Router } from '@looseleaf/core'
import { bucketRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { createDisk, type Disk } from './disk.ts'
import { chooseFaults, noFaults, type FaultKind, type Faults, type Part } from './faults.ts'
import { failingOver, withFlaw } from './flawed-driver.ts'
import { cleanersContext, writersDriver, writersTime } from './flawed-process.ts'
import type { Flaw } from './flaws.ts'
import { byName, byPair, byRank } from './indexes.ts'
import type { Life } from './life.ts'
import { createReplicas, type Replicas } from './replicas.ts'
import type { Scheduler } from './scheduler.ts'
import { createShardPast, type ShardPast } from './shard-past.ts'
import { createSimulatedCache, type SimulatedCache } from './shared-cache.ts'
import { simulatedDriver, type Network } from './simulated-driver.ts'

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
}

export const clientKinds = ['everything', 'moves', 'keys'] as const

export const SHARDS = 2
/** A query takes some tens of milliseconds, or some hundreds if one of its statements is slow. */
const QUERY_TIMES_MS = [50, 300, 1500]
/**
 * Mostly few, so that clients meet; sometimes more, so that a write can be held up without being replaced.
 */
const MOST_ENTITIES = [4, 4, 4, 40]
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
    ids,
  } as const
  const drawn = chooseClients(random)
  const clients = given ?? drawn
  return {
    ...chosen,
    clients,
    names: clients === 'keys' ? random.pick([2, 4, 6]) : 0,
    replicasEach: parts.has('replicas') ? 1 + random.below(2) : 0,
    cacheMs: parts.has('cache') ? random.pick(CACHES_MS) : 0,
  }
}

function chooseClients(random: Random): Circumstances['clients'] {
  const drawn = random.next()
  return drawn < 0.25 ? 'moves' : drawn < 0.45 ? 'keys' : 'everything'
}

function anyId(random: Random): EntityId {
  const versionAndVariant = (i: number): number => (i === 6 ? 0x70 : i === 8 ? 0x80 : 0)
  return formatId(
    Uint8Array.from({ length: 16 }, (_, i) => versionAndVariant(i) | random.below(i === 6 ? 16 : 64)),
  )
}

/** The databases, and the network between them and the processes. */
export interface World extends Circumstances {
  readonly replicas: Replicas
  /** Undefined if processes share none. */
  readonly cache: SimulatedCache | undefined
  /** Past states of the shards that may fail over or have replicas. */
  readonly pasts: readonly ShardPast[]
  readonly driver: ReferenceDriver
  readonly router: Router
  readonly codec: Codec
  /** The disks of the shards' servers. */
  readonly disks: readonly Disk[]
  /** Numbers of the shards that refuse all statements now. */
  readonly down: Set<number>
  /** How often each kind of fault happened. */
  readonly happened: Record<FaultKind, number>
  /** True in calm weather, in which no fault happens. */
  isCalm: boolean
  /** Opens a store for a process, together with the context of its cleaner. */
  open(life: Life, migrate?: boolean): Promise<Opened>
}

/** Wrapped in an object, because `await` would treat a store as a promise. */
export interface Opened {
  readonly store: DataStore
  readonly cleaned: CleanerStore
}

export function createWorld(
  circumstances: Circumstances,
  scheduler: Scheduler,
  random: Random,
  flaw: Flaw | undefined,
): World {
  const now = (): number => Math.floor(scheduler.now() * 1000)
  const driver = createReferenceDriver({ shards: SHARDS, now })
  const router = bucketRouter({ shards: SHARDS })
  // A separate random generator, so that the number of names does not influence later choices.
  const chance: Randomness = { next: random.next, uuid: createRandom(0).uuid }
  const codec = msgpackZlibCodec()
  const flawed = { ...driver, shards: driver.shards.map((shard) => withFlaw(shard, flaw)) }
  const happened = { ...noFaults }
  const down = new Set<number>()
  const pasts = driver.shards.map((shard) => createShardPast(failingOver(shard, flaw)))
  const surroundings: Pick<Network, 'scheduler' | 'random' | 'faults' | 'count'> = {
    scheduler,
    random,
    faults: () => (world.isCalm ? noFaults : world.faults),
    count: (kind) => void happened[kind]++,
  }
  const { cacheMs, replicasEach: each } = circumstances
  const replicas = createReplicas({ ...surroundings, shards: driver.shards, pasts, each, now, flaw })
  const cache =
    cacheMs === 0 ? undefined : createSimulatedCache({ ...surroundings, maxStalenessMs: cacheMs, flaw })
  const disks = driver.shards.map((shard) => createDisk(shard, random))
  const network: Network = { ...surroundings, down, disks, replicas: replicas.servers }
  const world: World = {
    ...circumstances,
    driver,
    router,
    codec,
    replicas,
    cache,
    pasts,
    disks,
    down,
    happened,
    isCalm: true,
    async open(life, migrate = false) {
      const connected = simulatedDriver(flawed, life, network)
      const store = await DataStore.open({
        shards: { shardCount: SHARDS, connect: async () => writersDriver(connected, flaw) },
        router,
        codec,
        indexes: [byTag, byGroup, byRank, byPair, ...(world.clients === 'keys' ? [byName] : [])],
        migrate,
        writeOrder: world.writeOrder,
        onIndexFailure: world.onIndexFailure,
        deleteDelayMs: flaw === 'no delete delay' ? 0 : world.deleteDelayMs,
        queryTimeMs: world.queryTimeMs,
        time: writersTime(scheduler.timeOf(life), world, flaw),
        random: chance,
        ...(cache !== undefined && {
          cache: { maxStalenessMs: cacheMs, connect: () => cache.connect(life) },
        }),
        onWarning: () => undefined,
      })
      const time = scheduler.timeOf(life)
      return {
        store,
        cleaned: { context: cleanersContext({ ...store.context, driver: connected, time }, flaw) },
      }
    },
  }
  return world
}
