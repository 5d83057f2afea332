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
import { joinRuns } from '../src/clean/run-record.ts'
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
  const raised = markFromText((await driver.shards[0]!.tasks.load(MARK_TASK))!.progress)
  // The mark is above all marks that the shard had before.
  expect(raised.mark).toBe(3)
  const found = marks.unsweptSince
  time.leap(MINUTE)
  await marks.look({})
  expect(marks.unsweptSince).toBe(found)
  expect(warnings).toEqual([
    expect.stringMatching(/^Shard memory 0 has gone back in time.* A sweep of all indexes begins now/),
  ])
})

test('a process looks at the marks once a minute, and raises those that no process has raised since', async () => {
  let sent = 0
  const driver = faultyDriver(await memoryShards(2).connect(), ({ table }) => {
    if (table === 'tasks') sent++
    return undefined
  })
  const store = await openStore({ driver, time })
  const markOf = async (shard: number): Promise<number> =>
    markFromText((await driver.shards[shard]!.tasks.load(MARK_TASK))!.progress).mark
  const [one, other] = [createMarkKeeper(store.context, 'one'), createMarkKeeper(store.context, 'other')]
  await one.look({})
  await other.look({})
  expect([await markOf(0), await markOf(1)]).toEqual([1, 1])
  sent = 0
  time.leap(MINUTE - 1)
  await one.look({})
  expect(sent).toBe(0)
  time.leap(1)
  await one.look({})
  expect([await markOf(0), await markOf(1)]).toEqual([2, 2])
  // The clock of the process that raised them was ahead.
  time.leap(-2 * MINUTE)
  await createMarkKeeper(store.context, 'third').look({})
  expect([await markOf(0), await markOf(1)]).toEqual([3, 3])
})

test('a process finds that a shard went back below a mark that another process raised', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, time, onWarning: () => {} })
  const [one, other] = [createMarkKeeper(store.context, 'one'), createMarkKeeper(store.context, 'other')]
  await one.look({})
  const before = (await driver.shards[0]!.tasks.load(MARK_TASK))!.progress
  time.leap(MINUTE)
  await one.look({})
  // The second mark is not due, so this process only sees it.
  await other.look({})
  await setTask(driver, 0, MARK_TASK, before)
  time.leap(MINUTE)
  await other.look({})
  expect(other.unsweptSince).toBe(time.now())
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

test('a finding is kept while its shard does not answer, and a mistake of the program is thrown', async () => {
  const memory = await memoryShards(1).connect()
  let failure: Error = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
  const driver = faultyDriver(memory, ({ table, operation }) =>
    table === 'tasks' && operation === 'claim' ? { before: () => Promise.reject(failure) } : undefined,
  )
  const store = await openStore({ driver, time })
  const marks = createMarkKeeper(store.context, 'one')
  const wentBack = { to: 0, from: 0, foundAt: 7, isSwept: false }
  await setTask(memory, 0, MARK_TASK, JSON.stringify({ mark: 1, at: 0, wentBack }))
  await marks.look({})
  expect(marks.unsweptSince).toBe(7)
  failure = new TypeError('A mistake.')
  time.leap(MINUTE)
  await expect(marks.look({})).rejects.toBe(failure)
})

test('a sweep that has not ended does not end a finding', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, time })
  const foundAt = time.now()
  const wentBack = { to: 0, from: 0, foundAt, isSwept: false }
  await setTask(driver, 0, MARK_TASK, JSON.stringify({ mark: 1, at: foundAt, wentBack }))
  const tables = store.context.catalog.current().indexes.map(({ table }) => table)
  await joinRuns(store.context, tables, { owner: 'any', leaseMs: 1_000, pollMs: 1 }, {})
  expect(await readRewinds(store)).toMatchObject([{ isSwept: false }])
  // A run that began at the time of the finding counts.
  await cleanIndex(store)
  expect(await readRewinds(store)).toMatchObject([{ isSwept: true }])
  // The next look stores that, although the mark is not to be raised yet.
  const marks = createMarkKeeper(store.context, 'one')
  await marks.look({})
  const { progress } = (await driver.shards[0]!.tasks.load(MARK_TASK))!
  expect([markFromText(progress).wentBack?.isSwept, marks.unsweptSince]).toEqual([true, 0])
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
