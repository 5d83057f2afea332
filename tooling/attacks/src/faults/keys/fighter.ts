/** A process of a fight over keys: one store with several callers that record everything. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startCleaner } from '@looseleaf/cleaner'
import { isLooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { runAsChild, type Child } from '../../lab/child.ts'
import { openStore } from '../../lab/open-store.ts'
import { moment } from '../../lab/records.ts'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import type { FightEnd, FightRecord } from './fight-records.ts'
import { withKeyFlaw, type KeyFlaw } from './flawed-keys.ts'
import { withHeldCommits } from './held-commits.ts'
import { byName } from './names.ts'

/** Configuration of a process of a fight. */
export interface FighterConfig {
  readonly seed: number
  readonly urls: readonly string[]
  readonly ids: readonly string[]
  readonly keys: readonly string[]
  readonly flaw?: KeyFlaw | undefined
  /** Grace of the cleaner that this process runs. */
  readonly cleanerGraceMs?: number | undefined
}

type Fighter = Child<FighterConfig, FightRecord>

const CALLERS = 6
const DEADLINE_MS = 1_000
const AFTER_ERROR_MS = 20

async function run(fighter: Fighter): Promise<void> {
  const { seed, number, urls, flaw, cleanerGraceMs: graceMs } = fighter.config
  const store = await openStore(urls, {
    connections: { deadlineMs: DEADLINE_MS, connectTimeoutMs: DEADLINE_MS, lockWaitSeconds: 1 },
    change: (driver) => withKeyFlaw(withHeldCommits(driver, createRandom(number)), flaw),
    indexes: [byName],
    // The shards may be unreachable when this process starts.
    again: () => !fighter.isStopping,
  })
  const cleaner =
    graceMs === undefined ? undefined : startCleaner(store, { graceMs, intervalMs: 50, sweepEveryMs: 2_000 })
  fighter.ready()
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const random = createRandom(seed * 1_000 + number * 64 + caller)
      while (!fighter.isStopping) await fight(fighter, store, random)
    }),
  )
  await store.settled()
  await cleaner?.stop()
  await store.close()
}

/** Makes one write: an entity takes a key, gives its key up, or is deleted. */
async function fight(fighter: Fighter, store: DataStore, random: Random): Promise<void> {
  const { config, recorder } = fighter
  const id = random.pick(config.ids)
  const chosen = random.next()
  const key = chosen < 0.7 ? random.pick(config.keys) : null
  const number = fighter.nextNumber()
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

runAsChild<FighterConfig, FightRecord>(
  run,
  (record) => record.kind === 'end' && record.outcome === 'acknowledged',
  (error) => {
    console.error('A process of a fight ended with an error:', error)
    return undefined
  },
)
