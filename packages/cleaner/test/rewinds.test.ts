import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { MARK_TASK, markFromText, noteTask } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { cleanIndex } from '../src/index.ts'
import { checkRewinds, readRewinds, startTunedCleaner } from '../src/internal.ts'
import { createMarkKeeper } from '../src/tampering/keep-marks.ts'
import { byTag, byUser, expectedRows, openStore, QUERY_TIME_MS, rowsIn } from './stores.ts'
import { leapingTime, until, type LeapingTime } from '@looseleaf-tooling/kit/times'

const MINUTE = 60_000

let folder: string
let time: LeapingTime
let warnings: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-back-'))
  time = leapingTime()
  warnings = []
})
afterEach(() => rmSync(folder, { recursive: true }))

async function open(): Promise<DataStore> {
  const store = await DataStore.open({
    shards: sqliteShards({ folder, shards: 2 }),
    indexes: [byUser, byTag],
    migrate: true,
    queryTimeMs: QUERY_TIME_MS,
    time,
    onWarning: (warning) => warnings.push(warning),
  })
  onTestFinished(() => store.close())
  return store
}

const bagOf = (i: number): { user_id: string; published: number; tags: string[] } => ({
  user_id: `user ${i % 7}`,
  published: i,
  tags: [`tag ${i % 3}`],
})

/** Creates a store of two shards, and restores one shard from a copy that is a minute older than its last writes. */
async function restored(number: number): Promise<{ readonly copiedAt: number; readonly lostAt: number }> {
  const file = join(folder, `shard-${number}.sqlite`)
  const first = await open()
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await first.put(bagOf(i))).id)
  await checkRewinds(first)
  const copiedAt = time.now()
  await first.close()
  copyFileSync(file, `${file}-copy`)
  time.leap(MINUTE)
  const second = await open()
  await checkRewinds(second)
  const lostAt = time.now()
  for (const [i, id] of ids.entries()) await second.put(bagOf(i + 1), { id })
  await second.settled()
  await second.close()
  copyFileSync(`${file}-copy`, file)
  return { copiedAt, lostAt }
}

test.each([0, 1])(
  'a shard %i that was restored from a copy is found at open and by status, until all indexes are swept',
  async (number) => {
    const { copiedAt, lostAt } = await restored(number)
    const store = await open()
    const shard = `shard-${number}.sqlite`
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^Shard ${shard} has gone back in time`))])
    const found = { shard, to: copiedAt, from: lostAt, isSwept: false }
    expect(await readRewinds(store)).toMatchObject([found])
    expect(await rowsIn(store, 'by_user')).not.toEqual(await expectedRows(store, 'by_user'))

    const cleaner = startTunedCleaner(store, { settleMs: 0 })
    await until(async () => (await readRewinds(store)).every(({ isSwept }) => isSwept))
    await until(() => cleaner.status().sweeping.length === 0)
    // The shard gets the record of the sweep after a minute.
    time.leap(MINUTE)
    await cleaner.stop()
    // A look that the stop of the cleaner interrupted holds the lease of the mark for some seconds.
    await until(async () => {
      await checkRewinds(store)
      const { progress } = (await store.context.driver.shards[number]!.tasks.load(MARK_TASK))!
      return markFromText(progress).wentBack?.isSwept === true
    })
    // Rows of writers that may still be alive are left to the next sweep.
    time.leap(2 * MINUTE)
    await cleanIndex(store)
    for (const name of ['by_user', 'by_tag'])
      expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
    expect(await readRewinds(store)).toMatchObject([{ ...found, isSwept: true }])
    warnings = []
    await open()
    expect(warnings).toEqual([])
  },
)

test('a shard that went back is still found by later looks, although its mark is raised past the note', async () => {
  await restored(0)
  const store = await open()
  await checkRewinds(store)
  const [first] = await readRewinds(store)
  time.leap(MINUTE)
  await checkRewinds(store)
  expect(await readRewinds(store)).toEqual([first])
  expect(first).toMatchObject({ isSwept: false })
  // Cleaning only one index is not enough.
  await cleanIndex(store, 'by_user')
  expect(await readRewinds(store)).toMatchObject([{ isSwept: false }])
  await cleanIndex(store)
  expect(await readRewinds(store)).toMatchObject([{ isSwept: true }])
})

async function setTask(driver: Driver, shard: number, name: string, progress: string): Promise<void> {
  const { tasks } = driver.shards[shard]!
  await tasks.claim(name, 'test', 1_000)
  await tasks.save(name, 'test', progress, 0)
}

test('the only shard of a store is found to have gone back by a process that stayed open', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, time, onWarning: (warning) => warnings.push(warning) })
  const marks = createMarkKeeper(store.context, 'one')
  await marks.look({})
  const before = (await driver.shards[0]!.tasks.load(MARK_TASK))!.progress
  time.leap(MINUTE)
  await marks.look({})
  expect(marks.unsweptSince).toBe(0)
  await setTask(driver, 0, MARK_TASK, before)
  time.leap(MINUTE)
  await marks.look({})
  expect(marks.unsweptSince).toBe(time.now())
  expect(await readRewinds(store)).toMatchObject([{ isSwept: false }])
})

test('a shard that stops answering after its mark was read does not fail the look', async () => {
  const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
  const driver = faultyDriver(await memoryShards(1).connect(), ({ table, operation }) =>
    table === 'tasks' && operation === 'claim' ? { before: () => Promise.reject(away) } : undefined,
  )
  const store = await openStore({ driver, time })
  const marks = createMarkKeeper(store.context, 'one')
  await marks.look({})
  expect(marks.unsweptSince).toBe(0)
})

test('a shard without a mark, which another shard has noted, has gone back to an unknown time', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, time, onWarning: (warning) => warnings.push(warning) })
  await checkRewinds(store)
  await setTask(driver, 0, MARK_TASK, '')
  expect(await readRewinds(store)).toMatchObject([{ shard: 'memory 0', to: 0, isSwept: false }])
})

test('a shard that lost its note of another one causes no finding, and notes it again', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, time, onWarning: (warning) => warnings.push(warning) })
  await checkRewinds(store)
  await setTask(driver, 1, noteTask(0), '')
  await checkRewinds(store)
  expect(await readRewinds(store)).toEqual([])
  await setTask(driver, 0, MARK_TASK, '')
  expect(await readRewinds(store)).toMatchObject([{ shard: 'memory 0' }])
})

test('a shard that joins has not gone back, and the note of the shard before it still counts', async () => {
  const store = await open()
  await checkRewinds(store)
  time.leap(MINUTE)
  await checkRewinds(store)
  await store.shards.add('shard-2.sqlite')
  expect(await readRewinds(store)).toEqual([])
  const { driver } = store.context
  const { progress } = (await driver.shards[1]!.tasks.load(MARK_TASK))!
  // The only note of shard 1 is still on shard 0.
  await setTask(driver, 1, MARK_TASK, '')
  expect(await readRewinds(store)).toMatchObject([{ shard: 'shard-1.sqlite', isSwept: false }])
  await setTask(driver, 1, MARK_TASK, progress)
  await checkRewinds(store)
  time.leap(MINUTE)
  await checkRewinds(store)
  expect(await readRewinds(store)).toEqual([])
  expect(warnings).toEqual([])
  for (const [number, { name }] of driver.shards.entries()) {
    await setTask(driver, number, MARK_TASK, '')
    expect((await readRewinds(store)).map(({ shard }) => shard)).toContain(name)
  }
})

test('a sweep ends the finding that it followed, but not one that arises while that is saved', async () => {
  let plan: FaultPlan = () => undefined
  const driver = faultyDriver(await memoryShards(1).connect(), (call) => plan(call))
  const store = await openStore({ driver, time })
  const marks = createMarkKeeper(store.context, 'one')
  const found = (mark: number): string =>
    JSON.stringify({
      mark,
      at: time.now(),
      wentBack: { to: 0, from: 0, foundAt: time.now(), isSwept: false },
    })
  await setTask(driver, 0, MARK_TASK, found(1))
  time.leap(MINUTE)
  await cleanIndex(store)
  time.leap(MINUTE)
  plan = ({ operation, args }) => {
    if (operation !== 'claim' || args[0] !== MARK_TASK || args[1] === 'test') return undefined
    plan = () => undefined
    return { before: () => setTask(driver, 0, MARK_TASK, found(2)) }
  }
  await marks.look({})
  expect(await readRewinds(store)).toMatchObject([{ foundAt: time.now(), isSwept: false }])
  const { progress } = (await driver.shards[0]!.tasks.load(MARK_TASK))!
  expect(JSON.parse(progress)).toMatchObject({ wentBack: { isSwept: false } })
})

test('processes that raise the marks of one store concurrently cause no finding', async () => {
  const store = await openStore({ driver: await memoryShards(3).connect(), time })
  const keepers = ['a', 'b', 'c'].map((owner) => createMarkKeeper(store.context, owner))
  for (let round = 0; round < 30; round++) {
    time.leap(MINUTE)
    await Promise.all([...keepers.map((keeper) => keeper.look({})), readRewinds(store)])
  }
  expect(await readRewinds(store)).toEqual([])
})
