/** A process of the growth run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startTunedCleaner } from '@looseleaf/cleaner/internal'
import { isLooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { runAsChild } from '../lab/child.ts'
import { openStore } from '../lab/open-store.ts'
import { moment } from '../lab/records.ts'
import { consumeChanges } from './consume-changes.ts'
import { followChanges } from './follow-changes.ts'
import type { GrowthWorker } from './growth-worker.ts'
import { growthIndexes } from './indexes.ts'
import { runMover } from './run-mover.ts'
import { readEntities } from './read-entities.ts'
import type { GrowthConfig, GrowthRecord } from './records.ts'
import { writeEntities } from './write-entities.ts'

/** Longest statement, and the time after which a write begins no further attempt. */
const DEADLINE_MS = 5_000
const WRITE_TIMEOUT_MS = 20_000

async function run(worker: GrowthWorker): Promise<void> {
  const { role, urls, speed } = worker.config
  const store = await openStore(urls, {
    connections: {
      deadlineMs: DEADLINE_MS,
      connectTimeoutMs: DEADLINE_MS,
      lockWaitSeconds: 1,
      poolSize: 6,
    },
    indexes: growthIndexes,
    writeTimeoutMs: WRITE_TIMEOUT_MS * speed,
    observer: {
      happened(event) {
        if (event.kind === 'handed_over') worker.recorder.write({ kind: 'seal', ms: event.sealedMs })
      },
    },
    ...(speed !== 1 && { time: fastTime(speed) }),
    // A server may be down when this process starts.
    again: (error) => isLooseleafError(error) && error.retryable && !worker.isStopping,
  })
  await work[role](worker, store)
  worker.recorder.write({ kind: 'ended', at: moment() })
  await store.close()
}

const work: Readonly<
  Record<GrowthConfig['role'], (worker: GrowthWorker, store: DataStore) => Promise<void>>
> = {
  write: writeEntities,
  read: readEntities,
  follow: followChanges,
  consume: consumeChanges,
  clean,
  move: runMover,
  drain: runMover,
  repair: runMover,
  undo: runMover,
}

async function clean(worker: GrowthWorker, store: DataStore): Promise<void> {
  const cleaner = startTunedCleaner(store, {
    graceMs: 500,
    intervalMs: 200,
    idleIntervalMs: 1_000,
    leaseMs: 5_000,
    sweepEveryMs: 5_000,
    rowsPerSecond: worker.config.rowsPerSecond,
  })
  worker.ready()
  while (!worker.isStopping) await sleep(50)
  await cleaner.stop()
}

runAsChild<GrowthConfig, GrowthRecord>(
  run,
  (record) => record.kind === 'answer' && record.outcome === 'acknowledged',
  (error) => ({ kind: 'wrong', message: `A process ended with ${String(error)}` }),
)
