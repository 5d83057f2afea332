import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { untilAborted, type CatalogEntry } from '@looseleaf/core/internal'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { byTag, byUser, openStore } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { readCleanerReport } from '../report/cleaner-report.ts'
import { cleanIndex, type CleanResult, tunedCleanIndex } from './clean-index.ts'
import { partTask } from './part-lease.ts'
import { joinRuns, runTask } from './run-record.ts'

const TABLE = 'index_by_user'

interface Finished {
  readonly result: Promise<CleanResult>
  /** Returns the number of looks of the worker at the record of its run. */
  readonly looks: () => number
  readonly finishedAt: () => Promise<number>
}

/** Fills an index; before or after the worker's look number `atLook` at the record of its run, another process acts. */
async function fill(
  atLook: number,
  act: (other: Awaited<ReturnType<typeof openStore>>) => Promise<unknown>,
  time: 'before' | 'after' = 'before',
): Promise<Finished> {
  const clock = leapingTime()
  const driver = createReferenceDriver({ shards: 2, now: () => clock.now() * 1000 })
  const other = await openStore({ driver, time: clock, indexes: [] })
  await other.putMany(Array.from({ length: 10 }, (_, i) => ({ user_id: `user ${i}`, published: i })))
  await other.addIndex(byUser)
  let looks = 0
  const watched = faultyDriver(driver, ({ operation, args }) => {
    if (operation === 'load') return { after: () => new Promise((resolve) => setImmediate(resolve)) }
    if (operation !== 'loadAll' || !(args[0] as readonly string[]).includes(runTask(TABLE))) return undefined
    return ++looks === atLook ? { [time]: async () => void (await act(other)) } : undefined
  })
  const worker = await openStore({ driver: watched, time: clock, indexes: [] })
  return {
    result: cleanIndex(worker, 'by_user'),
    looks: () => looks,
    finishedAt: async () => (await readCleanerReport(other)).indexes[0]?.lastRun?.finishedAt.getTime() ?? 0,
  }
}

/** Returns the number of the worker's last look, with which it ends the run. */
async function lastLook(): Promise<number> {
  const { result, looks } = await fill(0, async () => {})
  await result
  return looks()
}

it('a run that another worker ended is not ended again, and both return the same result', async () => {
  let theirs: CleanResult | undefined
  let endedAt = 0
  const { result, finishedAt } = await fill(await lastLook(), async (other) => {
    theirs = await cleanIndex(other, 'by_user')
    endedAt = (await readCleanerReport(other)).indexes[0]!.lastRun!.finishedAt.getTime()
  })
  expect(await result).toEqual(theirs)
  expect(theirs).toMatchObject({ added: 10, indexes: [{ state: 'ready' }] })
  expect(await finishedAt()).toBe(endedAt)
})

it('a worker that was suspended before it ends a filling does not make an index ready that is filled again since', async () => {
  const stateOf = ({ context }: Awaited<ReturnType<typeof openStore>>): string | undefined =>
    context.catalog.current().indexes.find(({ name }) => name === 'by_user')?.state
  let cleaner: Awaited<ReturnType<typeof openStore>> | undefined
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
