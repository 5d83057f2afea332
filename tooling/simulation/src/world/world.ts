import { msgpackZlibCodec } from '@looseleaf/codec'
import { LooseleafError, parseId, type Codec, type Randomness, type Router } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import {
  createReferenceDriver,
  withSnapshots,
  type ReferenceDriver,
} from '@looseleaf-tooling/kit/reference-driver'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { createDisk, type Disk } from '../servers/disk.ts'
import type { Circumstances } from '../faults/circumstances.ts'
import { noFaults, type FaultKind } from '../faults/faults.ts'
import { failingOver, withFlaw } from '../faults/flawed-driver.ts'
import { cleanersContext, writersDriver, writersTime } from '../faults/flawed-process.ts'
import type { Flaw } from '../faults/flaws.ts'
import { byName, byNearRank, byPair, byRank, valuesOn, type EntityValues } from '../shapes/indexes.ts'
import { createOwners, type Owners } from './owners.ts'
import { smallRouter } from './small-router.ts'
import type { Life } from '../steps/life.ts'
import { createReplicas, type Replicas } from '../servers/replicas.ts'
import { BELATED_STEPS, type Scheduler } from '../steps/scheduler.ts'
import { createShardPast, type ShardPast } from '../servers/shard-past.ts'
import { createSimulatedCache, type SimulatedCache } from '../servers/shared-cache.ts'
import { simulatedDriver, type Network } from '../servers/simulated-driver.ts'

/** Shards of the store at its beginning. */
export const SHARDS = 2
/** Buckets in lives with near entities whose buckets do not move. The bucket of the entities has some of the values, so more rows and claims are local. */
const FEW_BUCKETS = 4

/** Steps that a move takes, and more. */
const BELATED_DURING_MOVES = 3_000

/** The databases, and the network between them and the processes. */
export interface World extends Circumstances {
  readonly replicas: Replicas
  /** Undefined if processes share none. */
  readonly cache: SimulatedCache | undefined
  /** Past states of the shards that may fail over or have replicas. */
  readonly pasts: readonly ShardPast[]
  /** The databases: the shards, and in lives with moves one that may join. */
  readonly driver: ReferenceDriver
  readonly owners: Owners
  readonly router: Router
  /** Values whose rows are on the shard of all entities; undefined if these are anywhere. */
  readonly nearValues: EntityValues | undefined
  readonly codec: Codec
  /** The disks of the shards' servers. */
  readonly disks: readonly Disk[]
  /** Numbers of the shards that refuse all statements now. */
  readonly down: Set<number>
  /** How often each kind of fault happened. */
  readonly happened: Record<FaultKind, number>
  /** Movers that are at a step in which calls of clients matter most. */
  readonly movingBy: Map<object, 'copying' | 'sealing'>
  /** Tells whether any mover is handing buckets over. */
  isHandingOver(): boolean
  /** True in calm weather, in which no fault happens. */
  isCalm: boolean
  /** Opens a store for a process, together with the context of its cleaner. */
  open(life: Life, migrate?: boolean): Promise<Opened>
}

/** Wrapped in an object, because `await` would treat a store as a promise. */
export interface Opened {
  readonly store: DataStore
  readonly cleaned: Pick<DataStore, 'context'>
}

export function createWorld(
  circumstances: Circumstances,
  scheduler: Scheduler,
  random: Random,
  flaw: Flaw | undefined,
): World {
  const now = (): number => Math.floor(scheduler.now() * 1000)
  const driver = createReferenceDriver({ shards: circumstances.mayJoin ? SHARDS + 1 : SHARDS, now })
  const hasFew = circumstances.isNear && circumstances.movers === 0
  const router = smallRouter(SHARDS, hasFew ? FEW_BUCKETS : undefined)
  // A separate random generator, so that the number of names does not influence later choices.
  const chance: Randomness = { next: random.next, uuid: createRandom(0).uuid }
  const codec = msgpackZlibCodec()
  const databases = driver.shards.map((shard) => withFlaw(withSnapshots(shard, now), flaw))
  const flawed = {
    ...driver,
    shards: databases.slice(0, SHARDS),
    shardAt(address: string | object) {
      const found = databases.find(({ name }) => name === address)
      if (found !== undefined) return found
      throw new LooseleafError('BAD_OPTION', 'No database has this address.')
    },
  }
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
  // During moves, some arrive when their bucket has moved on, or has come back.
  const belatedSteps = (): number =>
    circumstances.movers > 0 && random.chance(0.5) ? BELATED_DURING_MOVES : BELATED_STEPS
  const disks = driver.shards.map((shard) => createDisk(shard, random))
  const network: Network = { ...surroundings, belatedSteps, down, disks, replicas: replicas.servers }
  const world: World = {
    ...circumstances,
    driver,
    owners: createOwners(driver, router, SHARDS),
    router,
    nearValues: circumstances.isNear
      ? valuesOn(router.shardOfId(parseId(circumstances.ids[0]!)), router)
      : undefined,
    codec,
    replicas,
    cache,
    pasts,
    disks,
    down,
    happened,
    movingBy: new Map(),
    isHandingOver: () => [...world.movingBy.values()].includes('sealing'),
    isCalm: true,
    async open(life, migrate = false) {
      const connected = simulatedDriver(flawed, life, network)
      const store = await DataStore.open({
        shards: { shardCount: SHARDS, connect: async () => writersDriver(connected, flaw) },
        router,
        codec,
        indexes: [
          byTag,
          byGroup,
          byRank,
          byPair,
          ...(world.clients === 'keys' ? [byName] : []),
          ...(world.isNear ? [byNearRank] : []),
        ],
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
        cleaned: {
          context: cleanersContext(
            { ...store.context, driver: circumstances.movers > 0 ? store.context.driver : connected, time },
            flaw,
          ),
        },
      }
    },
  }
  return world
}
