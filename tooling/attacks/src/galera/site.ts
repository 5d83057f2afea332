import { setTimeout as sleep } from 'node:timers/promises'
import { sweep } from '@looseleaf/cleaner'
import { tunedCheckIndex } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { checkIndexes, type IndexesCheck } from '../lab/check-indexes.ts'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { openStore } from '../lab/open-store.ts'
import { checkCounters, createCaller, type Caller } from './caller.ts'
import { createTally, type Tally } from './tally.ts'

export const allIndexes = [byGroup, byTag] as const

export type IndexCheck = Omit<IndexesCheck, 'unclaimed'>

/** Callers under load on one store, which can move to other servers. */
export interface Site {
  readonly tally: Tally
  /** Number of checks of whole indexes under load that found nothing missing. */
  readonly checksUnderLoad: () => number
  /** Resumes the callers. */
  resume(): void
  /** Resolves when no call is in flight. */
  pause(): Promise<void>
  /**
   * Opens the store on these URLs and closes the old one. Resolves with the milliseconds until the new one
   * answered.
   */
  move(urls: readonly string[]): Promise<number>
  /**
   * Compares everything that the paused callers know with the store, and checks the indexes for missing rows.
   */
  look(): Promise<void>
  /** With paused callers: sweeps once, then compares both indexes. */
  sweepAndCheck(): Promise<IndexCheck>
  /** Resolves with the milliseconds until the next acknowledged write. */
  nextAcknowledged(): Promise<number>
  store(): DataStore
  close(): Promise<void>
}

const COUNTERS = 8
const OPEN_TRIES_MS = 60_000

export async function openSite(urls: readonly string[], callerCount: number): Promise<Site> {
  const tally = createTally()
  let store = await open(urls, true)
  const counters: EntityId[] = []
  for (let i = 0; i < COUNTERS; i++) counters.push((await store.put({ counter: i })).id)
  const callers = new Map<string, Caller>()
  for (let i = 0; i < callerCount; i++) {
    const name = `caller ${i}`
    callers.set(
      name,
      createCaller(name, counters, () => store.newId(), tally),
    )
  }

  let running = false
  let stillChecks = 0
  let work: Promise<unknown> = Promise.resolve()

  async function call(caller: Caller): Promise<void> {
    while (running) {
      const refusedBefore = Object.values(tally.refused).reduce((a, b) => a + b, 0)
      await caller.step(store)
      const refused = Object.values(tally.refused).reduce((a, b) => a + b, 0)
      // A shard that is down refuses at once; like an application, the callers do not spin.
      if (refused > refusedBefore) await sleep(10)
    }
  }

  async function watch(): Promise<void> {
    while (running) {
      try {
        for (const { name } of allIndexes) {
          const { missing } = await tunedCheckIndex(store, name, { settleMs: 100 })
          if (missing > 0) tally.wrongs.push(`${name}: ${missing} rows were missing under load`)
          else stillChecks++
        }
      } catch (error) {
        if (!isLooseleafError(error)) throw error
        await sleep(50)
      }
    }
  }

  return {
    tally,
    checksUnderLoad: () => stillChecks,
    resume() {
      running = true
      work = Promise.all([...[...callers.values()].map(call), watch()])
    },
    async pause() {
      running = false
      await work
    },
    async move(newUrls) {
      const begin = performance.now()
      const old = store
      const closing = old.close()
      store = await open(newUrls, false)
      const openMs = performance.now() - begin
      // Calls to a silent node end at their deadlines.
      await closing
      return openMs
    },
    async look() {
      await Promise.all([...callers.values()].map((caller) => caller.look(store)))
      await checkCounters(store, counters, callers, tally)
      for (const { name } of allIndexes) {
        const { missing } = await tunedCheckIndex(store, name, { settleMs: 0 })
        if (missing > 0) tally.wrongs.push(`${name}: ${missing} rows are missing`)
      }
    },
    async sweepAndCheck() {
      await sweep(store, { graceMs: 0 })
      const { missing, dangling, entities, rows } = await checkIndexes(store, allIndexes)
      if (missing + dangling > 0)
        tally.wrongs.push(`after the sweep: ${missing} missing, ${dangling} dangling`)
      return { missing, dangling, entities, rows }
    },
    async nextAcknowledged() {
      const [begin, before] = [performance.now(), tally.acknowledged]
      while (tally.acknowledged === before) await sleep(5)
      return performance.now() - begin
    },
    store: () => store,
    async close() {
      running = false
      await work
      await store.close()
    },
  }
}

/** The next node may refuse everything until the group has agreed that the old one is gone. */
function open(urls: readonly string[], migrate: boolean): Promise<DataStore> {
  const deadline = performance.now() + OPEN_TRIES_MS
  return openStore(urls, {
    connections: { poolSize: 20 },
    indexes: allIndexes,
    migrate,
    again: (error) => isLooseleafError(error) && error.retryable && performance.now() <= deadline,
  })
}
