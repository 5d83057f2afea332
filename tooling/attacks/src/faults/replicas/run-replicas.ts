import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../lab/open-store.ts'
import { startFaultProxy } from '../../lab/proxy/fault-proxy.ts'
import { createProcesses } from '../../lab/processes.ts'
import { startReplicaCluster, type ReplicaShard } from '../../lab/replica-shard.ts'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { quantile } from '../quantile.ts'
import { judgeReads, type ReadsJudged } from './judge-reads.ts'
import { byOwner, type ReplicasConfig, type ReplicasRecord } from './replicas-records.ts'

export interface ReplicasRunOptions {
  readonly seed: number
  readonly rounds: number
  /** Duration of the faults in a round. */
  readonly roundMs: number
  readonly processes: number
  /** Replicas of each shard. */
  readonly replicas: number
}

export interface ReplicasRun extends Omit<ReadsJudged, 'ages'> {
  readonly seed: number
  readonly seconds: number
  readonly rounds: number
  readonly processes: number
  /** Replicas of each shard; undefined means one. */
  readonly replicas?: number
  readonly entities: number
  readonly faults: Readonly<Record<string, number>>
  /** Ages of replaced states when they were read, in milliseconds. */
  readonly ages: { readonly count: number; readonly p50: number; readonly p99: number; readonly max: number }
}

const SHARDS = 2
const IDS = 20
const READERS = 4
const END_MS = 60_000
/** More than a process writes in a round. */
const WRITES_A_ROUND = 1_000_000

/**
 * Runs processes that read from replicas while these lag, stop, hang, die and are promoted. No read may be
 * older than its bound.
 */
export async function runReplicas({
  seed,
  rounds,
  roundMs,
  processes,
  replicas,
}: ReplicasRunOptions): Promise<ReplicasRun> {
  const random = createRandom(seed)
  const started = performance.now()
  const faults: Record<string, number> = {}
  const records: ReplicasRecord[] = []
  const cluster = await startReplicaCluster({
    mode: 'semi-sync',
    shards: SHARDS,
    replicated: Array.from({ length: SHARDS }, (_, number) => number),
    replicas,
  })
  const places = Array.from({ length: replicas }, (_, place) => place)
  try {
    const database = await cluster.createDatabase()
    const store = await openStore(database.adminUrls(), { migrate: true, indexes: [byOwner] })
    const idsOf = Array.from({ length: processes }, () =>
      Array.from({ length: IDS + 1 }, () => store.newId()),
    )
    await store.close()
    for (let round = 0; round < rounds; round++) {
      const folder = await mkdtemp(join(tmpdir(), 'looseleaf-replicas-'))
      // A restarted server has another port.
      const portOf = (shard: ReplicaShard, place: number): number => Number(shard.replica(place).url.port)
      const proxies = await Promise.all(
        cluster.shards.map((shard) =>
          Promise.all(places.map((place) => startFaultProxy(portOf(shard, place)))),
        ),
      )
      const shards = database.urls.map((primary, number) => ({
        primary,
        replicas: proxies[number]!.map((proxy) => {
          const url = new URL(primary)
          url.port = String(proxy.port)
          return url.href
        }),
      }))
      const load = await createProcesses<ReplicasConfig, ReplicasRecord>(
        new URL('./replicas-worker.ts', import.meta.url),
        folder,
        { shards, seed: seed * 100 + round, base: round * WRITES_A_ROUND, idsOf, readers: READERS },
      )
      try {
        const workers = Array.from({ length: processes }, () => load.start())
        await Promise.all(workers.map(({ ready }) => ready))
        const end = performance.now() + roundMs
        while (performance.now() < end) {
          await sleep(100 + random.below(600))
          const number = random.below(cluster.shards.length)
          const shard = cluster.shards[number] as ReplicaShard
          const place = random.below(replicas)
          const what = await disturb(shard, place, random)
          proxies[number]![place]!.setTarget(portOf(shard, place))
          faults[what] = (faults[what] ?? 0) + 1
        }
        // Waits until the replica has everything. If its replication was restarted, it loses what it had
        // received and not yet replayed. The promoted server gets a new replica, which the next processes
        // use.
        await random
          .pick(cluster.shards)
          .failOver({ place: random.below(replicas), lagMs: 0, freeze: random.chance(0.5) })
        faults['replicas promoted'] = (faults['replicas promoted'] ?? 0) + 1
        await sleep(2_000)
        for (const worker of workers) worker.stop()
        const { histories, hanging } = await load.end(END_MS)
        for (const history of histories) records.push(...history.records)
        if (hanging > 0) records.push({ kind: 'wrong', message: `${hanging} processes did not end` })
      } finally {
        await load.kill()
        await Promise.all(proxies.flat().map((proxy) => proxy.close()))
        await rm(folder, { recursive: true, force: true })
      }
    }
  } finally {
    await cluster.stop()
  }
  const { ages, ...judged } = judgeReads(records)
  return {
    seed,
    seconds: (performance.now() - started) / 1_000,
    rounds,
    processes,
    replicas,
    entities: processes * IDS,
    faults,
    ages: { count: ages.length, p50: quantile(ages, 0.5), p99: quantile(ages, 0.99), max: quantile(ages, 1) },
    ...judged,
  }
}

/** Does some harm to a replica of a shard and returns its description. */
async function disturb(shard: ReplicaShard, place: number, random: Random): Promise<string> {
  const replica = shard.replica(place)
  const chosen = random.next()
  if (chosen < 0.5) {
    await shard.stopReplaying(place)
    await sleep(200 + random.below(3_000))
    await shard.startReplaying(place)
    return 'replicas that stopped replaying'
  }
  if (chosen < 0.7) {
    await shard.delayReplica(1 + random.below(3), place)
    await sleep(1_000 + random.below(4_000))
    await shard.delayReplica(0, place)
    return 'replicas delayed'
  }
  if (chosen < 0.9) {
    replica.freeze()
    await sleep(200 + random.below(2_000))
    replica.thaw()
    return 'replicas paused'
  }
  await replica.kill()
  await sleep(random.below(1_000))
  await replica.restart()
  await shard.startReplaying(place)
  return 'replicas killed'
}
