import { setTimeout as sleep } from 'node:timers/promises'
import { startReplicaCluster } from '../../lab/replica-shard.ts'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { runHistory, type HistoryRun, type HistoryRunOptions } from './run-history.ts'

export interface ReplicatedHistoryOptions extends Omit<HistoryRunOptions, 'urls' | 'replicas'> {
  /** Replicas of each shard. */
  readonly replicasEach: number
}

const SHARDS = [0, 1]

/** Runs a history in which half of the reads go to replicas, one of which lags now and then. */
export async function runReplicatedHistory({
  replicasEach,
  ...options
}: ReplicatedHistoryOptions): Promise<HistoryRun> {
  const cluster = await startReplicaCluster({
    mode: 'asynchronous',
    shards: SHARDS.length,
    replicated: SHARDS,
    replicas: replicasEach,
  })
  const random = createRandom(options.seed)
  let isOver = false
  const fallBehind = async (): Promise<void> => {
    while (!isOver) {
      const shard = random.pick(cluster.shards)
      const place = random.below(replicasEach)
      await shard.stopReplaying(place)
      await sleep(random.below(1_500))
      await shard.startReplaying(place)
      await sleep(random.below(300))
    }
  }
  try {
    const { urls } = await cluster.createDatabase()
    const replicas = urls.map((primary, number) =>
      Array.from({ length: replicasEach }, (_, place) => {
        const url = new URL(primary)
        url.port = cluster.shards[number]!.replica(place).url.port
        return url.href
      }),
    )
    const behind = fallBehind()
    try {
      return await runHistory({ ...options, urls, replicas })
    } finally {
      isOver = true
      await behind
    }
  } finally {
    await cluster.stop()
  }
}
