import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan, type FaultyCall } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { pace } from '../../test/pace.ts'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget } from '../pass/index-target.ts'
import { cleanIndex, tunedCleanIndex, type CleanOptions } from './clean-index.ts'
import type { Tuned } from '../pass/tuning.ts'
import { claimParts, partTask } from './part-lease.ts'
import { joinRuns, loadRuns, runTask } from './run-record.ts'

const SHARDS = 6
const TABLE = 'index_by_user'

let driver: ReferenceDriver
let time: LeapingTime
let plan: FaultPlan
let store: DataStore

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  driver = createReferenceDriver({ shards: SHARDS, now: () => time.now() * 1000 })
  store = await openStore({ driver: faultyDriver(driver, (call) => plan(call)), time, indexes: [byUser] })
  await store.putMany(Array.from({ length: 60 }, (_, i) => ({ user_id: `user ${i}`, published: i })))
})

/** Cleans an index, and returns the lease times in milliseconds of the claims or saves of a task. */
async function leasesOf(
  operation: 'claimAll' | 'saveAll',
  task: string,
  options: Tuned<CleanOptions>,
): Promise<readonly unknown[]> {
  const leases: unknown[] = []
  plan = (call) => {
    if (call.table !== 'tasks' || call.operation !== operation) return undefined
    const [tasks, , leaseMs] = call.args as [readonly string[] | ReadonlyMap<string, string>, string, number]
    const names = tasks instanceof Map ? [...tasks.keys()] : tasks
    if ((names as readonly string[]).includes(task)) leases.push(leaseMs)
    return undefined
  }
  await tunedCleanIndex(store, 'by_user', options)
  plan = () => undefined
  return leases
}

describe('the catalog', () => {
  it('only a clean with `restart` changes the catalog of ready indexes', async () => {
    let changes = 0
    let flushes = 0
    plan = ({ operation }) => {
      if (operation === 'change') changes++
      if (operation === 'flush') flushes++
      return undefined
    }
    await cleanIndex(store)
    await cleanIndex(store, undefined, { restart: false })
    // Each clean makes the catalog durable once, and flushes no more.
    expect([changes, flushes]).toEqual([0, 2 * SHARDS])
    const { epochs } = store.context.catalog.current()
    await cleanIndex(store, undefined, { restart: true })
    expect(changes).toBe(SHARDS)
    expect(store.context.catalog.current().epochs.every((epoch, i) => epoch > epochs[i]!)).toBe(true)
  })

  it('an index that another process retires during its filling stays retiring', async () => {
    const filling = await openStore({ driver, time, indexes: [] })
    await filling.addIndex(byTag)
    let retired: Promise<unknown> | undefined
    const retire = (): Promise<unknown> =>
      changeCatalog(driver, (indexes) =>
        indexes.map((entry) => (entry.name === 'by_tag' ? { ...entry, state: 'retiring' as const } : entry)),
      )
    const isDone = (progress: ReadonlyMap<string, string>): boolean =>
      [...progress.values()].some((text) => text.includes('"stage":"done"'))
    // The change comes after the last phase was saved as done, before the index is made ready.
    const { indexes } = await tunedCleanIndex(
      {
        context: {
          ...filling.context,
          driver: faultyDriver(driver, ({ operation, args }) =>
            operation === 'saveAll' && isDone(args[0] as ReadonlyMap<string, string>)
              ? { after: async () => void (await (retired ??= retire())) }
              : undefined,
          ),
        },
      },
      'by_tag',
      { shardsAtOnce: 1 },
    )
    expect(retired).toBeDefined()
    expect(indexes).toMatchObject([{ index: 'by_tag', state: 'retiring' }])
    expect((await filling.indexes()).find(({ name }) => name === 'by_tag')).toMatchObject({
      state: 'retiring',
    })
  })
})

describe('leases', () => {
  it('leases last 30 seconds for a part, and 5 seconds for the record of a run', async () => {
    expect(new Set(await leasesOf('claimAll', partTask(TABLE), {}))).toEqual(new Set([30_000]))
    expect(new Set(await leasesOf('claimAll', runTask(TABLE), {}))).toEqual(new Set([5_000]))
  })

  it('leases last `leaseMs`, for the record of a run at most that', async () => {
    const leaseMs = 1_234
    expect(new Set(await leasesOf('claimAll', partTask(TABLE), { leaseMs }))).toEqual(new Set([leaseMs]))
    expect(new Set(await leasesOf('claimAll', runTask(TABLE), { leaseMs }))).toEqual(new Set([leaseMs]))
  })

  it.each([
    ['every second', {}, 1_000],
    ['every `checkpointMs`', { checkpointMs: 70 }, 70],
  ])('leases are renewed %s', async (_, options, everyMs) => {
    const savesWith = async (pageMs: number): Promise<number> => {
      const saves = await leasesOf('saveAll', partTask(TABLE), {
        ...options,
        pageSize: 1,
        check: false,
        shardsAtOnce: 1,
        onProgress: () => time.leap(pageMs),
      })
      return saves.filter((leaseMs) => leaseMs !== 0).length
    }
    const often = await savesWith(everyMs)
    expect(often).toBeGreaterThan(SHARDS)
    expect(await savesWith(Math.floor(everyMs / 2))).toBeLessThan(often)
  })
})

describe('the part of another worker', () => {
  async function waitsWith(options: Tuned<CleanOptions>, leaseMs = 3_000): Promise<number[]> {
    const worker = { owner: 'another', leaseMs: 5_000, pollMs: 1 }
    const { run } = (await joinRuns(store.context, [TABLE], worker, {})).get(TABLE)!
    const target = indexTarget(store.context, store.context.catalog.current().indexes[0]!)
    const lease = {
      owner: 'another',
      leaseMs,
      checkpointMs: 0,
      onRemoved: () => {},
      paceOf: () => pace,
    }
    const { leases } = await claimParts(store.context, new Map([[target, run]]), 2, lease, {})
    expect(leases).toHaveLength(1)
    const slept: number[] = []
    const watched = {
      ...time,
      now: time.now,
      sleep(milliseconds: number, signal?: AbortSignal) {
        slept.push(milliseconds)
        return time.sleep(milliseconds, signal)
      },
    }
    await tunedCleanIndex({ context: { ...store.context, time: watched } }, 'by_user', options)
    return slept
  }

  it('a clean waits for the part of another worker, and looks every half second', async () => {
    expect(await waitsWith({})).toEqual(Array.from({ length: 6 }, () => 500))
  })

  it('a clean waits for the part of another worker, and looks every `pollMs`', async () => {
    expect(await waitsWith({ pollMs: 1_000 })).toEqual([1_000, 1_000, 1_000])
  })

  it('a clean waits for the part of another worker for longer than half a minute', async () => {
    expect(await waitsWith({ pollMs: 10_000 }, 60_000)).toEqual(Array.from({ length: 6 }, () => 10_000))
  })

  it('a filling that waits for the part of another worker notices that it was paused', async () => {
    const filling = await openStore({ driver, time, indexes: [] })
    await filling.addIndex(byTag)
    await driver.shards[2]!.tasks.claim(partTask('index_by_tag'), 'another', 60_000)
    let waits = 0
    const watched = {
      ...time,
      now: time.now,
      async sleep(milliseconds: number, signal?: AbortSignal) {
        waits++
        await filling.pauseIndex('by_tag')
        return time.sleep(milliseconds, signal)
      },
    }
    const context = { ...filling.context, time: watched }
    const { indexes } = await tunedCleanIndex({ context }, 'by_tag', { checkpointMs: 0 })
    expect(indexes).toMatchObject([{ state: 'building', halted: true }])
    expect(waits).toBe(1)
  })
})

it.each([
  [500, 100],
  [30, 30],
])('with `pollMs` %d a clean looks for a held run record every %d ms', async (pollMs, everyMs) => {
  const [first] = driver.shards
  await first!.tasks.claim(runTask(TABLE), 'another', 3 * everyMs)
  await tunedCleanIndex(store, 'by_user', { pollMs })
  expect(time.slept).toBe(3 * everyMs)
})

describe('saves', () => {
  const away = (): Promise<never> => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
  const saves = ({ operation, args }: FaultyCall, task: string): boolean =>
    operation === 'saveAll' && (args[0] as ReadonlyMap<string, string>).has(task)

  it('a clean ends after the end of its run is saved', async () => {
    plan = (call) =>
      saves(call, runTask(TABLE))
        ? { before: () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))) }
        : undefined
    await cleanIndex(store)
    expect((await loadRuns(store.context, [TABLE])).get(TABLE)).toMatchObject({ state: 'done' })
  })

  it('a clean goes on if a part cannot be released', async () => {
    let failures = 0
    plan = (call) => {
      if (!saves(call, partTask(TABLE)) || call.args[2] !== 0 || failures > 0) return undefined
      failures++
      return { before: away }
    }
    expect(await cleanIndex(store)).toMatchObject({ complete: true })
    expect(failures).toBe(1)
  })

  it('a clean rejects with its first error, also if the release of its parts fails later', async () => {
    const first = new LooseleafError('STATEMENT_FAILED', 'The first error.')
    plan = (call) => {
      if (call.operation === 'pageByAdded') return { before: () => Promise.reject(first) }
      return saves(call, partTask(TABLE)) ? { before: away } : undefined
    }
    await expect(cleanIndex(store)).rejects.toBe(first)
  })
})

describe('the amount of concurrent work', () => {
  /** Returns the largest number of shards read at the same time. */
  async function maxConcurrency(options: Tuned<CleanOptions>): Promise<number> {
    let reading = 0
    let highest = 0
    plan = ({ operation }) =>
      operation === 'pageByAdded'
        ? {
            async before() {
              highest = Math.max(highest, ++reading)
              for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
              reading--
            },
          }
        : undefined
    await tunedCleanIndex(store, 'by_user', options)
    return highest
  }

  it('a clean works on four shards at once, or on `shardsAtOnce`', async () => {
    expect(await maxConcurrency({})).toBe(4)
    expect(await maxConcurrency({ shardsAtOnce: 2 })).toBe(2)
  })

  it('a clean reads at most `rowsPerSecond`', async () => {
    await cleanIndex(store, 'by_user', { check: false })
    expect(time.slept).toBe(0)
    // The clean reads 60 entities, the row of each of them, and once more all 60 rows.
    await cleanIndex(store, 'by_user', { check: false, rowsPerSecond: 10 })
    expect(time.slept).toBe(18_000)
  })
})

it.each([
  [{}, 500],
  [{ settleMs: 7 }, 7],
])('the check of a clean looks again at a missing row after a pause: %j', async (options, settleMs) => {
  const filling = await openStore({ driver, time, indexes: [] })
  await filling.put({ tags: ['a'] })
  await filling.addIndex(byTag)
  const table = tableSpec(filling.context.catalog.current().indexes.find(({ name }) => name === 'by_tag')!)
  let looks = 0
  const watched = faultyDriver(driver, ({ operation, shard }) =>
    // A filling makes no look-ups, so this is the check.
    operation === 'rowsOf' && looks++ === 0
      ? {
          async before() {
            const { rows, remove } = driver.shards[shard]!.index(table)
            expect(await remove(rows.map((row) => ({ ...row, before: Number.MAX_SAFE_INTEGER })))).toBe(1)
          },
        }
      : undefined,
  )
  const cleaned = await tunedCleanIndex(
    { context: { ...filling.context, driver: watched } },
    'by_tag',
    options,
  )
  expect(cleaned).toMatchObject({ added: 2, indexes: [{ state: 'ready' }] })
  expect(time.slept).toBe(settleMs)
})
