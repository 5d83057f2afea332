/** A process of the load: one store with several callers that record everything. */
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import type { Driver } from '@looseleaf/core'
import { runAsChild, type Child } from '../../lab/child.ts'
import { openStore } from '../../lab/open-store.ts'
import { createRandom } from '@looseleaf-tooling/kit/random'
import type { HistoryRecord } from '../history/records.ts'
import { allIndexes } from '../indexes.ts'
import { runClient } from './client.ts'
import { withLateScans, withRefusals } from './disturbed-driver.ts'
import { withFlaw } from './flawed-driver.ts'
import { nearEntities } from './near-entities.ts'
import type { WorkerConfig } from './load.ts'
import { sampleClosed, sampleResources } from './sample-resources.ts'
import { withStop } from './stopping-driver.ts'

/** A collection takes tens of milliseconds, so only every fourth sample makes one. */
const SAMPLES_PER_COLLECTION = 4

type Worker = Child<WorkerConfig, HistoryRecord>

async function run(worker: Worker): Promise<void> {
  const { config, recorder } = worker
  const { deadlineMs, poolSize, cleanerGraceMs: graceMs } = config
  const before = sampleResources('before')
  recorder.write(before)
  const { urls, replicas } = config
  const shards = urls.map((primary, number) => ({ primary, replicas: replicas?.[number] ?? [] }))
  const store = await openStore(shards, {
    connections: { deadlineMs, connectTimeoutMs: deadlineMs, poolSize, lockWaitSeconds: 1 },
    change: (driver) => disturbed(driver, worker),
    indexes: allIndexes,
    clockOffsetMs: config.clockOffsetMs,
    // The shards may be unreachable when this process starts.
    again: () => !worker.isStopping,
    ...config.writing,
  })
  const cleaner =
    graceMs === undefined
      ? undefined
      : startTunedCleaner(store, {
          graceMs,
          intervalMs: 50,
          idleIntervalMs: 200,
          leaseMs: 2_000,
          sweepEveryMs: 2_000,
        })
  const near = nearEntities(store, config.near ?? [])
  worker.ready()
  let samples = 0
  const sampler = setInterval(() => {
    recorder.write(sampleResources(undefined, ++samples % SAMPLES_PER_COLLECTION === 0))
  }, 1_000)
  const next = (): number | undefined => {
    if (worker.isStopping || (config.operations > 0 && worker.operations >= config.operations))
      return undefined
    return worker.nextNumber()
  }
  await Promise.all(
    Array.from({ length: config.clients }, (_, client) =>
      runClient({
        store,
        random: createRandom(config.seed * 1_000 + config.number * 64 + client),
        recorder,
        hot: config.hot,
        cold: config.cold,
        near,
        largeBodies: config.largeBodies ?? 0,
        restMs: config.restMs ?? 0,
        isReplicated: replicas !== undefined,
        next,
      }),
    ),
  )
  clearInterval(sampler)
  await store.settled()
  recorder.write(sampleResources('idle', true))
  await cleaner?.stop()
  await store.close()
  recorder.write(await sampleClosed(before.sockets ?? 0))
}

function disturbed(driver: Driver, { config, recorder }: Worker): Driver {
  const { flaw, stopAt, refuseRows, scansApartMs } = config
  const random = createRandom(config.number)
  let through = driver
  if (flaw !== undefined) through = withFlaw(through, flaw)
  if (refuseRows !== undefined) through = withRefusals(through, refuseRows, random)
  if (scansApartMs !== undefined) through = withLateScans(through, scansApartMs, random)
  if (stopAt !== undefined) through = withStop(through, stopAt, (record) => recorder.write(record))
  return through
}

runAsChild<WorkerConfig, HistoryRecord>(
  run,
  (record) => record.kind === 'end' && record.outcome === 'acknowledged',
  (error) => ({ kind: 'wrong', message: `A process ended with ${String(error)}` }),
)
