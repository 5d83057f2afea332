/** A process of the load: one store, some callers, everything written down. Started by `load.ts`. */
import { startCleaner } from '@looseleaf/cleaner'
import { systemTime, type Driver, type DriverFactory, type Time } from '@looseleaf/core'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { createRandom } from '@looseleaf-tooling/random'
import { allIndexes } from '../indexes.ts'
import { runClient } from './client.ts'
import { withFlaw } from './flawed-driver.ts'
import { withLateScans } from './late-scans-driver.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { withRefusals } from './refusing-driver.ts'
import { sampleClosed, sampleResources } from './sample-resources.ts'
import { withStop } from './stopping-driver.ts'
import {
  NUMBERS_PER_WORKER,
  type WorkerConfig,
  type WorkerMessage,
  type WorkerOrder,
} from './worker-config.ts'

const OPEN_AGAIN_MS = 100
/** A collection takes tens of milliseconds, so not every sample is worth one. */
const SAMPLES_PER_COLLECTION = 4

// Our parent wrote it.
const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig
const file = createRecorder(config.file)
let stopping = false
let saysWhenWritten = false

const recorder: Recorder = {
  write(record) {
    file.write(record)
    if (!saysWhenWritten || record.kind !== 'end' || record.outcome !== 'acknowledged') return
    saysWhenWritten = false
    tell('written')
  },
  close: () => file.close(),
}

process.on('message', (order: WorkerOrder) => {
  if (order === 'stop') stopping = true
  else saysWhenWritten = true
})
// Nobody to work for any more.
process.on('disconnect', () => process.exit(1))

const tell = (message: WorkerMessage): void => void process.send?.(message)

async function run(): Promise<void> {
  const before = sampleResources('before')
  recorder.write(before)
  const socketsBefore = before.sockets ?? 0
  const store = await open()
  const cleaner =
    config.cleanerGraceMs === undefined
      ? undefined
      : startCleaner(store, {
          graceMs: config.cleanerGraceMs,
          intervalMs: 50,
          idleIntervalMs: 200,
          overlapMs: 1_000,
          leaseMs: 2_000,
          sweepEveryMs: 2_000,
        })
  tell('ready')
  let samples = 0
  const sampler = setInterval(() => {
    recorder.write(sampleResources(undefined, ++samples % SAMPLES_PER_COLLECTION === 0))
  }, 1_000)
  let count = 0
  const next = (): number | undefined => {
    if (stopping || (config.operations > 0 && count >= config.operations)) return undefined
    return config.worker * NUMBERS_PER_WORKER + ++count
  }
  await Promise.all(
    Array.from({ length: config.clients }, (_, client) =>
      runClient({
        store,
        random: createRandom(config.seed * 1_000 + config.worker * 64 + client),
        recorder,
        hot: config.hot,
        cold: config.cold,
        largeBodies: config.largeBodies ?? 0,
        restMs: config.restMs ?? 0,
        next,
      }),
    ),
  )
  clearInterval(sampler)
  await store.settled()
  recorder.write(sampleResources('idle', true))
  await cleaner?.stop()
  await store.close()
  recorder.write(await sampleClosed(socketsBefore))
  recorder.close()
  tell('done')
  process.disconnect?.()
}

function withDisturbances(driver: Driver): Driver {
  const { flaw, stopAt, refuseRows, scansApartMs } = config
  const random = createRandom(config.worker)
  let disturbed = driver
  if (flaw !== undefined) disturbed = withFlaw(disturbed, flaw)
  if (refuseRows !== undefined) disturbed = withRefusals(disturbed, refuseRows, random)
  if (scansApartMs !== undefined) disturbed = withLateScans(disturbed, scansApartMs, random)
  if (stopAt !== undefined) disturbed = withStop(disturbed, stopAt, (record) => recorder.write(record))
  return disturbed
}

/** The shards may be away when this process starts. */
async function open(): Promise<DataStore> {
  const shards = mysqlShards(config.urls, {
    deadlineMs: config.deadlineMs,
    connectTimeoutMs: config.deadlineMs,
    poolSize: config.poolSize,
    lockWaitSeconds: 1,
  })
  const { clockOffsetMs = 0, writing } = config
  const time: Time = { ...systemTime, now: () => Date.now() + clockOffsetMs }
  const factory: DriverFactory = {
    shardCount: shards.shardCount,
    async connect() {
      return withDisturbances(await shards.connect())
    },
  }
  for (;;) {
    try {
      return await DataStore.open({
        shards: factory,
        indexes: allIndexes,
        time,
        onWarning: () => undefined,
        ...writing,
      })
    } catch (error) {
      if (stopping) throw error
      await new Promise((resolve) => setTimeout(resolve, OPEN_AGAIN_MS))
    }
  }
}

run().catch((error: unknown) => {
  recorder.write({ kind: 'wrong', message: `A process ended with ${String(error)}` })
  process.exitCode = 1
  process.disconnect?.()
})
