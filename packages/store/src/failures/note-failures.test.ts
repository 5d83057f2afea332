import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError, type Shard, type Time } from '@looseleaf/core'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { createCallTally, type CallFailures, type CallTally } from './call-tally.ts'
import { notesFromText, notesToText, type FailureNote } from './failure-note.ts'
import { createFailureNotes, type FailureNotes } from './note-failures.ts'
import { probeShards } from './probe-shards.ts'
import { readFailures } from './read-failures.ts'

const full = new LooseleafError('SHARD_FULL', 'one: the disk is full.', { shard: 'one' })

let driver: ReferenceDriver
let plan: FaultPlan
let store: DataStore

/** A clock whose pauses end at `step`. `pauses` has their milliseconds. */
function steppedTime(): { time: Time; pauses: number[]; step(): Promise<void> } {
  const pauses: number[] = []
  let wake: (() => void) | undefined
  const time: Time = {
    now: () => 1_000_000,
    sleep: (ms) => {
      pauses.push(ms)
      return new Promise((resolve) => (wake = resolve))
    },
  }
  const step = async (): Promise<void> => {
    const before = pauses.length
    wake?.()
    wake = undefined
    // Noting makes a few calls of a driver in memory, which need some turns.
    for (let turn = 0; turn < 100 && pauses.length === before; turn++)
      await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, pauses, step }
}

function notesBy(time: Time): { notes: FailureNotes; tally: CallTally } {
  const tally: CallTally = createCallTally(time.now, () => notes.begin())
  const notes = createFailureNotes(store.context, () => tally, { firstMs: 10, everyMs: 60, time })
  onTestFinished(() => notes.stop())
  return { notes, tally }
}

beforeEach(async () => {
  driver = createReferenceDriver({ shards: 2 })
  plan = () => undefined
  const faulty = faultyDriver(driver, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(faulty), migrate: true, onWarning: () => {} })
  onTestFinished(() => store.close())
})

test('a long message of a failing call is noted up to a whole word', () => {
  const { tally } = notesBy(steppedTime().time)
  tally.failed(new LooseleafError('SHARD_UNAVAILABLE', `one: ${'the server is away '.repeat(20)}`))
  const [{ message }] = tally.failures() as [CallFailures]
  expect(message).toMatch(/^one: (the server is away )+the …$/)
  expect(message.length).toBeLessThanOrEqual(300)
})

test('failing calls are noted after ten seconds, then once a minute, and a last time when they have ended', async () => {
  const { time, pauses, step } = steppedTime()
  const { tally } = notesBy(time)
  // Calls before the first failure, which a note of its last ten seconds leaves out.
  for (let call = 0; call < 1_000; call++) tally.ended()
  for (let call = 0; call < 10; call++) {
    tally.ended()
    if (call < 7) tally.failed(full)
  }
  expect(await readFailures(store.context)).toEqual([])
  await step()
  const failure = { code: 'SHARD_FULL', shard: 'one', message: full.message }
  expect(await readFailures(store.context)).toMatchObject([
    { isOver: false, calls: 10, failures: [{ ...failure, count: 7 }] },
  ])
  tally.ended()
  tally.failed(full)
  await step()
  expect(await readFailures(store.context)).toMatchObject([{ calls: 1, failures: [{ count: 1 }] }])
  await step()
  expect(await readFailures(store.context)).toMatchObject([
    { isOver: true, calls: 1, failures: [{ count: 1 }] },
  ])
  expect(pauses).toEqual([10, 60, 60])
  tally.failed(full)
  expect(pauses).toEqual([10, 60, 60, 10])
})

test('a note goes to a shard that does not fail, and to the next one if that rejects it', async () => {
  const [first, second] = store.context.driver.shards as readonly [Shard, Shard]
  const claimed: number[] = []
  plan = ({ shard, table, operation }) => {
    if (table === 'tasks' && operation === 'claim') claimed.push(shard)
    return table === 'tasks' && operation === 'claim' && shard === 1
      ? { before: () => Promise.reject(full) }
      : undefined
  }
  const { time, step } = steppedTime()
  const { tally } = notesBy(time)
  tally.failed(new LooseleafError('SHARD_FULL', 'Full.', { shard: first.name }))
  await step()
  expect(claimed).toEqual([1, 0])
  expect(second.name).not.toBe(first.name)
  expect(await readFailures(store.context)).toHaveLength(1)
})

test('a note that no shard takes is retried soon with all of its failures', async () => {
  plan = ({ table }) => (table === 'tasks' ? { before: () => Promise.reject(full) } : undefined)
  const { time, pauses, step } = steppedTime()
  const { tally } = notesBy(time)
  tally.failed(full)
  await step()
  tally.failed(full)
  plan = () => undefined
  await step()
  expect(pauses).toEqual([10, 10, 60])
  expect(await readFailures(store.context)).toMatchObject([{ failures: [{ count: 2 }] }])
})

test('a call that fails while the last note is written is noted too', async () => {
  const { time, pauses, step } = steppedTime()
  const { tally } = notesBy(time)
  tally.failed(full)
  await step()
  let failing: (() => void) | undefined = () => tally.failed(full)
  plan = ({ operation }) => {
    if (operation === 'claim') failing?.()
    failing = undefined
    return undefined
  }
  await step()
  expect(pauses).toEqual([10, 60, 10])
  await step()
  expect(await readFailures(store.context)).toMatchObject([{ isOver: false, failures: [{ count: 1 }] }])
})

test('the notes of the last twenty processes are kept', async () => {
  for (let process = 0; process < 25; process++) {
    const { time, step } = steppedTime()
    notesBy(time).tally.failed(full)
    await step()
  }
  expect(await readFailures(store.context)).toHaveLength(20)
})

test('a note drops older notes and notes of a clock that was hours ahead', () => {
  const noteOf = (key: string, hours: number): FailureNote => ({
    key,
    process: key,
    at: new Date(hours * 3_600_000),
    isOver: false,
    periodMs: 1,
    calls: 1,
    failures: [{ code: 'SHARD_FULL', shard: 'one', count: 1, lastAt: 0, message: 'Full.' }],
  })
  const others = [noteOf('old', 98), noteOf('ahead', 102), noteOf('late', 99.5), noteOf('early', 100.5)]
  const kept = notesFromText(notesToText(others, noteOf('own', 100)))
  expect(kept.map(({ key }) => key)).toEqual(['early', 'own', 'late'])
})

test('mistakes of a caller are no failing calls, and each bag of putMany counts as a call', async () => {
  await expect(store.get('no id' as never)).rejects.toThrow()
  await expect(store.insert({ id: 'no id' } as never)).rejects.toThrow()
  expect(store.stats().failures).toEqual([])
  plan = ({ table, operation }) =>
    table === 'entities' && operation === 'insert' ? { before: () => Promise.reject(full) } : undefined
  const before = store.stats().calls
  const results = await store.putMany([{ a: 1 }, { a: 2 }, { a: 3 }], { fates: true })
  expect(results.map(({ ok }) => ok)).toEqual([false, false, false])
  await expect(store.put({ a: 4 })).rejects.toEqual(full)
  const { calls, failures } = store.stats()
  expect(calls - before).toBe(5)
  expect(failures).toMatchObject([{ code: 'SHARD_FULL', shard: 'one', count: 4 }])
})

test('a probe writes on each shard, and returns the error of a shard that rejects it', async () => {
  const well = await probeShards(store.context)
  expect(well.map(({ error }) => error)).toEqual([undefined, undefined])
  plan = ({ shard, table, operation }) =>
    shard === 1 && table === 'tasks' && operation === 'saveAll'
      ? { before: () => Promise.reject(full) }
      : undefined
  expect((await probeShards(store.context)).map(({ error }) => error)).toEqual([undefined, full])
})
