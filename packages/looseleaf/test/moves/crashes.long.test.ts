import { isLooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { describe, expect, test } from 'vitest'
import { dyingDriver } from '../../../cleaner/test/broken-driver.ts'
import type { MoveProgress } from '@looseleaf/store'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import {
  checkIndexes,
  checkQueries,
  contentsOf,
  filledStore,
  openStore,
  rowsAt,
  SOME_BUCKETS,
} from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
/** Few groups, saves at every page, and a lease that is over when the next mover comes. */
const tuning = { groups: 2, checkpointMs: 0, leaseMs: 1 }
const COUNT = 40

/** Calls after which a mover dies: in the short form some of them, a different share for each test. */
const deaths = (first: number): readonly number[] =>
  Array.from({ length: 240 }, (_, calls) => calls + 1).filter((calls) => isLong || calls % 28 === first)

/** Moves the buckets by a process that dies after this many calls. Returns the last step that it reported, or undefined if it lived. */
async function moveUntilDeath(
  driver: Driver,
  calls: number,
  withEffect: boolean,
): Promise<MoveProgress['step'] | undefined> {
  const dying = dyingDriver(driver, { withEffect })
  const store = await openStore(dying.driver, leapingTime())
  let step: MoveProgress['step'] = 'copying'
  dying.dieAfter(calls)
  try {
    await moveBuckets(store, plan, { ...tuning, onProgress: (each) => void (step = each.step) })
    return undefined
  } catch (error) {
    if (!isLooseleafError(error, 'CLOSED')) throw error
    return step
  }
}

async function expectWhole(driver: Driver, before: ReadonlyMap<string, string>, owner: 0 | 1): Promise<void> {
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await movesOf(fresh)).toEqual([])
  expect(await rowsAt(fresh, 1 - owner, SOME_BUCKETS)).toBe(0)
  await checkQueries(fresh)
  await checkIndexes(fresh)
}

describe.each([
  ['before its last call', false],
  ['after its last call', true],
])('a mover that dies %s', (_, withEffect) => {
  test('another mover finishes the move, at whatever step the first one died', async () => {
    const steps = new Set<string>()
    for (const calls of deaths(withEffect ? 7 : 9)) {
      const driver = await memoryShards(2).connect()
      const before = await contentsOf(await filledStore(driver, COUNT))
      const step = await moveUntilDeath(driver, calls, withEffect)
      steps.add(step ?? 'lived')
      const other = await openStore(driver, leapingTime())
      await resumeMoves(other, tuning)
      const isAnnounced = (await openStore(driver)).context.catalog.current().layout?.revision !== 0
      await expectWhole(driver, before, isAnnounced ? 1 : 0)
      await driver.close()
    }
    expect([...steps]).toEqual(
      expect.arrayContaining(['copying', 'checking', 'sealing', 'switching', 'emptying']),
    )
  }, 120_000)

  test('another mover undoes the move until its first group was handed over, and can only finish it after that', async () => {
    let undone = 0
    let finished = 0
    for (const calls of deaths(withEffect ? 5 : 11)) {
      const driver = await memoryShards(2).connect()
      const before = await contentsOf(await filledStore(driver, COUNT))
      await moveUntilDeath(driver, calls, withEffect)
      const other = await openStore(driver, leapingTime())
      const [open] = await movesOf(other)
      if (open !== undefined && open.state !== 'emptying') {
        const isLate = open.handedOver > 0
        const undo = undoMove(other, open.id, tuning)
        if (isLate) await expect(undo).rejects.toMatchObject({ code: 'CONFLICT' })
        else expect(await undo).toMatchObject({ state: 'undone', handedOver: 0 })
        if (isLate) finished++
        else undone++
        await resumeMoves(other, tuning)
        await expectWhole(driver, before, isLate ? 1 : 0)
      }
      await driver.close()
    }
    expect(undone).toBeGreaterThan(0)
    expect(finished).toBeGreaterThan(0)
  }, 120_000)
})

test('another mover finishes an undo, at whatever step the first one died', async () => {
  for (let calls = 1; calls < 200; calls += isLong ? 1 : 19) {
    const driver = await memoryShards(2).connect()
    const before = await contentsOf(await filledStore(driver, COUNT))
    await moveUntilDeath(driver, 100, false)
    const dying = dyingDriver(driver, { withEffect: calls % 2 === 0 })
    const store = await openStore(dying.driver, leapingTime())
    const [open] = await movesOf(store)
    dying.dieAfter(calls)
    const lived = await undoMove(store, open!.id, tuning).then(
      () => true,
      (error: unknown) => {
        if (!isLooseleafError(error, 'CLOSED')) throw error
        return false
      },
    )
    const other = await openStore(driver, leapingTime())
    for (const { id, state } of await movesOf(other))
      if (state !== 'undone') await undoMove(other, id, tuning)
    await resumeMoves(other, tuning)
    await expectWhole(driver, before, 0)
    await driver.close()
    if (lived) break
  }
}, 120_000)

test('a move goes on, or is undone, after the process that began to undo it has died', async () => {
  const ends = new Set<string>()
  for (let calls = 1; calls < 40; calls += isLong ? 1 : 7) {
    const driver = await memoryShards(2).connect()
    const before = await contentsOf(await filledStore(driver, COUNT))
    await moveUntilDeath(driver, 100, false)
    const dying = dyingDriver(driver, { withEffect: true })
    const store = await openStore(dying.driver, leapingTime())
    const [open] = await movesOf(store)
    dying.dieAfter(calls)
    await undoMove(store, open!.id, tuning).catch(() => {})
    const [report] = await resumeMoves(await openStore(driver, leapingTime()), tuning)
    ends.add(report!.state)
    await expectWhole(driver, before, report!.state === 'undone' ? 0 : 1)
    await driver.close()
  }
  expect([...ends].toSorted()).toEqual(['done', 'undone'])
}, 120_000)
