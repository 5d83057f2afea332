/** A process of a fight over keys: one store, some callers, everything written down. Started by `run-fight.ts`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startCleaner } from '@looseleaf/cleaner'
import { isLooseleafError, type DriverFactory } from '@looseleaf/core'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { createRandom, type Random } from '@looseleaf-tooling/random'
import { moment } from '../history/records.ts'
import { createRecorder } from '../load/recorder.ts'
import type { FightEnd, FightRecord } from './fight-records.ts'
import { withKeyFlaw, type KeyFlaw } from './flawed-keys.ts'
import { withHeldCommits } from './held-commits.ts'
import { byName } from './names.ts'

/** What a process is told, as JSON, on its command line. */
export interface FighterConfig {
  /** Unique within a fight: writes are numbered from it. */
  readonly fighter: number
  readonly seed: number
  readonly urls: readonly string[]
  /** Where it writes its history. */
  readonly file: string
  readonly ids: readonly string[]
  readonly keys: readonly string[]
  readonly flaw?: KeyFlaw | undefined
  /** Runs a cleaner with this grace. */
  readonly cleanerGraceMs?: number | undefined
}

const CALLERS = 6
const NUMBERS_PER_FIGHTER = 10_000_000
const DEADLINE_MS = 1_000
const AFTER_ERROR_MS = 20

// Our parent wrote it.
const config = JSON.parse(process.argv[2] ?? '') as FighterConfig
const recorder = createRecorder<FightRecord>(config.file)
let count = 0
let isStopping = false
let isDone = false
process.on('message', () => (isStopping = true))
// Nobody to work for any more.
process.on('disconnect', () => process.exit(isDone ? 0 : 1))

async function run(): Promise<void> {
  const store = await open()
  const { cleanerGraceMs: graceMs } = config
  const cleaner =
    graceMs === undefined ? undefined : startCleaner(store, { graceMs, intervalMs: 50, sweepEveryMs: 2_000 })
  process.send?.('ready')
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const random = createRandom(config.seed * 1_000 + config.fighter * 64 + caller)
      while (!isStopping) await fight(store, random)
    }),
  )
  await store.settled()
  await cleaner?.stop()
  await store.close()
  recorder.close()
  isDone = true
  process.disconnect?.()
}

/** The shards may be away when this process starts. */
async function open(): Promise<DataStore> {
  const shards = mysqlShards(config.urls, {
    deadlineMs: DEADLINE_MS,
    connectTimeoutMs: DEADLINE_MS,
    lockWaitSeconds: 1,
  })
  const connect = async (): ReturnType<DriverFactory['connect']> =>
    withKeyFlaw(withHeldCommits(await shards.connect(), createRandom(config.fighter)), config.flaw)
  for (;;) {
    try {
      return await DataStore.open({
        shards: { shardCount: shards.shardCount, connect },
        indexes: [byName],
        onWarning: () => undefined,
      })
    } catch (error) {
      if (isStopping) throw error
      await sleep(100)
    }
  }
}

/** One write: an entity takes a key, gives up what it has, or is deleted. */
async function fight(store: DataStore, random: Random): Promise<void> {
  const id = random.pick(config.ids)
  const chosen = random.next()
  const key = chosen < 0.7 ? random.pick(config.keys) : null
  const number = config.fighter * NUMBERS_PER_FIGHTER + ++count
  recorder.write({ kind: 'begin', number, id, key, at: moment() })
  let end: Pick<FightEnd, 'outcome' | 'version' | 'holder'>
  try {
    if (chosen >= 0.85) {
      const wasThere = await store.delete(id)
      end = { outcome: wasThere ? 'acknowledged' : 'failed' }
    } else {
      const { version } = await store.put({ by: number, ...(key !== null && { name: key }) }, { id })
      end = { outcome: 'acknowledged', version }
    }
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    const isRefused = error.code === 'DUPLICATE_KEY'
    end = {
      outcome: isRefused ? 'refused' : error.unknownOutcome ? 'unknown' : 'failed',
      ...(isRefused && { holder: error.holder }),
    }
    if (!isRefused) await sleep(AFTER_ERROR_MS)
  }
  recorder.write({ kind: 'end', number, at: moment(), ...end })
}

run().catch((error: unknown) => {
  console.error('A process of a fight ended with', error)
  process.exit(1)
})
