import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { untilAborted, type CatalogEntry } from '@looseleaf/core/internal'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { emptyTally } from '../pass/tally.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import { cleanIndex, type CleanResult, tunedCleanIndex } from './clean-index.ts'
import { partTask } from './part-lease.ts'
import { freshPart, partToText } from './part.ts'
import { joinRuns, runTask } from './run-record.ts'

const TABLE = 'index_by_user'

interface Finished {
  readonly result: Promise<CleanResult>
  /** Returns the number of looks of the worker at the record of its run. */
  readonly looks: () => number
  /** Returns the number of pages of entities that the worker has read. */
  readonly pages: () => number
  readonly finishedAt: () => Promise<number>
}

type Act = (other: DataStore, clock: LeapingTime) => Promise<unknown>

/** Fills an index; before or after the worker's look number `atLook` at the record of its run, another process acts, and then `next` at the next look. */
async function fill(
  atLook: number,
  act: Act,
  time: 'before' | 'after' = 'before',
  next: Act = async () => {},
): Promise<Finished> {
  const clock = leapingTime()
  const driver = createReferenceDriver({ shards: 2, now: () => clock.now() * 1000 })
  const other = await openStore({ driver, time: clock, indexes: [] })
  await other.putMany(Array.from({ length: 10 }, (_, i) => ({ user_id: `user ${i}`, published: i })))
  await other.addIndex(byUser)
  let looks = 0
  let pages = 0
  const watched = faultyDriver(driver, ({ operation, args }) => {
    if (operation === 'pageByAdded') pages++
    if (operation === 'load') return { after: () => new Promise((resolve) => setImmediate(resolve)) }
    if (operation !== 'loadAll' || !(args[0] as readonly string[]).includes(runTask(TABLE))) return undefined
    const due = [act, next][++looks - atLook]
    return due && { [time]: async () => void (await due(other, clock)) }
  })
  const worker = await openStore({ driver: watched, time: clock, indexes: [] })
  pages = 0
  return {
    result: cleanIndex(worker, 'by_user'),
    looks: () => looks,
    pages: () => pages,
    finishedAt: async () => (await readCleanerReport(other)).indexes[0]?.lastRun?.finishedAt.getTime() ?? 0,
  }
}

/** Returns the number of the worker's last look, with which it ends the run. */
async function lastLook(): Promise<number> {
  const { result, looks } = await fill(0, async () => {})
  await result
  return looks()
}

/** Replaces the part of shard 1. */
async function replacePart({ context }: DataStore, text: string): Promise<void> {
  const { tasks } = context.driver.shards[1]!
  await tasks.claim(partTask(TABLE), 'another', 1_000)
  expect(await tasks.save(partTask(TABLE), 'another', text, 0)).toBe(true)
}

it('a run that another worker ended is not ended again, and both return the same result', async () => {
  let theirs: CleanResult | undefined
  let endedAt = 0
  const { result, finishedAt } = await fill(await lastLook(), async (other) => {
    theirs = await cleanIndex(other, 'by_user')
    endedAt = (await readCleanerReport(other)).indexes[0]!.lastRun!.finishedAt.getTime()
    await replacePart(other, '')
  })
  expect(await result).toEqual(theirs)
  expect(theirs).toMatchObject({ added: 10, indexes: [{ state: 'ready' }] })
  expect(await finishedAt()).toBe(endedAt)
})

it('a worker that was suspended before it ends a filling does not make an index ready that is filled again since', async () => {
  const stateOf = ({ context }: DataStore): string | undefined =>
    context.catalog.current().indexes.find(({ name }) => name === 'by_user')?.state
  let cleaner: DataStore | undefined
  const { result } = await fill(
    await lastLook(),
    async (other) => {
      cleaner = other
      await cleanIndex(other, 'by_user')
      expect(stateOf(other)).toBe('ready')
      // A cleaner finds the table emptied.
      const toBuilding = (entries: readonly CatalogEntry[]): readonly CatalogEntry[] =>
        entries.map((entry) => ({ ...entry, state: 'building' }))
      await changeCatalog(other.context.driver, toBuilding)
      const worker = { owner: 'another cleaner', leaseMs: 5_000, pollMs: 100 }
      await joinRuns(other.context, [TABLE], worker, { restart: true })
    },
    'after',
  )
  expect(await result).toMatchObject({ indexes: [{ state: 'building' }] })
  await cleaner!.context.catalog.reload()
  expect(stateOf(cleaner!)).toBe('building')
  expect(await cleanIndex(cleaner!, 'by_user')).toMatchObject({ indexes: [{ state: 'ready' }] })
})

it('a filled index becomes ready although another process changes the catalog before the run ends', async () => {
  const { result } = await fill(await lastLook(), (other) => other.addIndex(byTag), 'after')
  expect(await result).toMatchObject({ added: 10, indexes: [{ state: 'ready' }] })
})

it.each([
  ['is gone', ''],
  [
    'is of an earlier run',
    partToText({ ...freshPart('earlier'), tally: { ...emptyTally(), added: 100 }, duplicates: 1 }),
  ],
])('a clean counts no work of a part that %s when the run ends', async (_, text) => {
  const { result } = await fill(await lastLook(), (other) => replacePart(other, text))
  const { added, indexes } = await result
  expect(added).toBeLessThanOrEqual(10)
  expect(indexes).toMatchObject([{ state: 'ready' }])
})

it('a worker does nothing for a run that another worker has replaced', async () => {
  const worker = { owner: 'another', leaseMs: 5_000, pollMs: 100 }
  const restart: Act = ({ context }) => joinRuns(context, [TABLE], worker, { restart: true })
  const { result, pages } = await fill(1, restart)
  expect(await result).toMatchObject({ indexes: [{ state: 'building' }] })
  expect(pages()).toBe(0)
})

it('a pause that comes after the last part is too late, and pauses of other indexes stay', async () => {
  let other: DataStore | undefined
  const { result } = await fill(await lastLook(), async (store) => {
    other = store
    await store.addIndex(byTag)
    for (const name of ['by_user', 'by_tag']) await store.pauseIndex(name)
  })
  expect(await result).toMatchObject({ indexes: [{ state: 'ready' }] })
  const { indexes } = await other!.context.catalog.reload()
  expect(indexes.map(({ name, state, paused }) => [name, state, paused])).toEqual([
    ['by_user', 'ready', undefined],
    ['by_tag', 'building', true],
  ])
})

it('a filling that was halted is not reported as halted if another worker has ended it since', async () => {
  const pause: Act = async (other, clock) => {
    await other.pauseIndex('by_user')
    clock.leap(1_000)
  }
  const endIt: Act = async (other) => {
    await other.resumeIndex('by_user')
    expect(await cleanIndex(other, 'by_user')).toMatchObject({ complete: true })
  }
  const { result, looks } = await fill(1, pause, 'before', endIt)
  const { complete, indexes } = await result
  expect([looks(), complete, indexes[0]!.state, indexes[0]!.halted]).toEqual([2, true, 'ready', undefined])
})

it('a clean throws `INDEX_NOT_FOUND` if its index is dropped just before the run ends', async () => {
  const { result } = await fill(await lastLook(), (other) => other.dropIndex('by_user'))
  await expect(result).rejects.toMatchObject({
    code: 'INDEX_NOT_FOUND',
    message: 'Index by_user was dropped while it was cleaned.',
  })
})

it('a clean sends no statement while it waits for the part of another worker', async () => {
  const POLL_MS = 777
  const leaping = leapingTime()
  const driver = createReferenceDriver({ shards: 1, now: () => leaping.now() * 1000 })
  let calls = 0
  const controller = new AbortController()
  const time = {
    now: leaping.now,
    sleep: (milliseconds: number, signal?: AbortSignal): Promise<void> =>
      milliseconds === POLL_MS
        ? untilAborted(new Promise(() => {}), signal)
        : leaping.sleep(milliseconds, signal),
  }
  const watched = faultyDriver(driver, () => {
    calls++
    return undefined
  })
  const store = await openStore({ driver: watched, time, indexes: [byUser] })
  await driver.shards[0]!.tasks.claim(partTask(TABLE), 'another', 60_000)
  const work = tunedCleanIndex(store, 'by_user', { pollMs: POLL_MS, signal: controller.signal })
  const waitTurns = async (): Promise<void> => {
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  await waitTurns()
  const before = calls
  await waitTurns()
  expect(calls).toBe(before)
  controller.abort()
  await expect(work).rejects.toMatchObject({ code: 'ABORTED' })
})
