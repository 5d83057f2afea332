import { LooseleafError, type ErrorCode, type Observer } from '@looseleaf/core'
import type { CleanerEvent } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { cleanIndex, readCleanerReport, startCleaner } from '../src/index.ts'
import { tunedCleanIndex } from '../src/internal.ts'
import { addRow, byTag, byUser, openStore, removeRow, rowFor } from './stores.ts'
import { leapingTime, until } from '@looseleaf-tooling/kit/times'

// Events of a cleaner that the observer of its store receives.

let events: CleanerEvent[]
let tokens: unknown[]
let plan: FaultPlan

beforeEach(() => {
  events = []
  tokens = []
  plan = () => undefined
})

async function open(indexes: readonly (typeof byUser | typeof byTag)[] = [byUser]) {
  const observer: Observer = {
    callBegan: ({ name }) => name,
    happened(event, calls) {
      if (!/^clean|^round/.test(event.kind)) return
      events.push(event as CleanerEvent)
      tokens.push(...calls)
    },
  }
  const driver = faultyDriver(await memoryShards(1).connect(), (call) => plan(call))
  return openStore({ driver, indexes, time: leapingTime(), observer, onWarning: () => {} })
}

const failing = (code: ErrorCode) => (): never => {
  throw new LooseleafError(code, 'A fault on purpose.')
}

const ofKind = <K extends CleanerEvent['kind']>(kind: K) =>
  events.filter((event): event is Extract<CleanerEvent, { kind: K }> => event.kind === kind)

const summed = (count: 'entities' | 'rows' | 'added' | 'removed' | 'undecodable') =>
  ofKind('cleaned').reduce((sum, event) => sum + event[count], 0)

test('a filling reports its start, its pages and its end', async () => {
  const store = await open([])
  for (const name of ['ada', 'bo', 'cy']) await store.put({ user_id: name, published: 1 })
  await store.addIndex(byUser)
  await cleanIndex(store, 'by_user')
  const filling = { work: 'fill', index: 'by_user' }
  expect(events[0]).toEqual({ kind: 'cleaning', outcome: 'begun', ...filling })
  expect(events.at(-1)).toEqual({ kind: 'cleaning', outcome: 'ended', ...filling })
  expect(ofKind('cleaned').every(({ shard, work }) => shard === 'memory 0' && work === 'fill')).toBe(true)
  expect(ofKind('cleaned')[0]).toMatchObject({ ...filling, entities: 3, added: 3, removed: 0 })
  // Entities and rows are each read twice: for the filling or dangling rows, and for the check.
  expect([summed('entities'), summed('rows'), summed('added')]).toEqual([6, 6, 3])
})

test('a sweep reports its counts, including rows that are deleted after their page', async () => {
  const store = await open()
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version - 1))
  await cleanIndex(store)
  expect(ofKind('cleaning').map(({ work, outcome }) => [work, outcome])).toEqual([
    ['sweep', 'begun'],
    ['sweep', 'ended'],
  ])
  expect([summed('added'), summed('removed')]).toEqual([1, 1])
})

test('a failed sweep reports rows that it deleted before the error', async () => {
  const store = await open()
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version - 1))
  let isDeleted = false
  plan = ({ operation }) => {
    if (operation === 'remove') isDeleted = true
    return isDeleted && operation === 'readBounded' ? { before: failing('STATEMENT_FAILED') } : undefined
  }
  await expect(cleanIndex(store)).rejects.toMatchObject({ code: 'STATEMENT_FAILED' })
  expect(summed('removed')).toBe(1)
  plan = () => undefined
  expect(await cleanIndex(store)).toMatchObject({ complete: true })
  expect(summed('removed')).toBe(1)
})

test('failed, stopped and halted runs have different outcomes', async () => {
  const store = await open([])
  await store.put({ user_id: 'ada', published: 1 })
  await store.addIndex([byUser, byTag])
  plan = ({ table, operation }) =>
    table === 'entities' && operation === 'pageByAdded' ? { before: failing('STATEMENT_FAILED') } : undefined
  await expect(cleanIndex(store, 'by_user')).rejects.toMatchObject({ code: 'STATEMENT_FAILED' })
  plan = () => undefined
  const stop = new AbortController()
  const stopping = cleanIndex(store, 'by_user', { signal: stop.signal, onProgress: () => stop.abort() })
  await expect(stopping).rejects.toMatchObject({ code: 'ABORTED' })
  let isPaused: Promise<unknown> | undefined
  await tunedCleanIndex(store, 'by_user', {
    checkpointMs: 0,
    onProgress: () => (isPaused ??= store.pauseIndex('by_user')),
  })
  await isPaused
  const outcomes = ofKind('cleaning').map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['begun', 'failed', 'begun', 'stopped', 'begun', 'halted'])
})

test('each index of a clean has its own outcome', async () => {
  const store = await open([byUser, byTag])
  await store.put({ user_id: 'ada', published: 1, tags: ['x'] })
  await store.addIndex([
    { ...byUser, shardOn: 'id' },
    { ...byTag, name: 'by_label' },
  ])
  events = []
  let isPaused: Promise<unknown> | undefined
  const { complete } = await tunedCleanIndex(store, undefined, {
    checkpointMs: 0,
    onProgress: () => (isPaused ??= store.pauseIndex('by_user')),
  })
  await isPaused
  expect(complete).toBe(false)
  const ends = ofKind('cleaning').slice(4)
  expect(ends.map(({ index, work, outcome }) => `${index} ${work} ${outcome}`).toSorted()).toEqual([
    'by_label fill ended',
    'by_tag sweep ended',
    'by_user fill halted',
    'by_user sweep ended',
  ])
})

test('a running cleaner reports its rounds and errors, and they do not belong to the trace that started it', async () => {
  const store = await open()
  const bag = { user_id: 'ada', published: 1 }
  const { id } = await store.put(bag)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  let isDown = true
  plan = ({ table }) => (isDown && table === 'tasks' ? { before: failing('SHARD_UNAVAILABLE') } : undefined)
  const trace = await store.trace(async (running) => {
    const cleaner = startCleaner(store)
    onTestFinished(() => cleaner.stop())
    await until(() => ofKind('cleaner_failed').length > 0)
    isDown = false
    await until(() => ofKind('round').some(({ added }) => added === 1))
    return running
  })
  expect(ofKind('cleaner_failed')[0]).toEqual({ kind: 'cleaner_failed', code: 'SHARD_UNAVAILABLE' })
  const round = ofKind('round').find(({ added }) => added === 1)
  expect(round).toMatchObject({ shard: 'memory 0', entities: 1, removed: 0, undecodable: 0, lagMs: 0 })
  expect(round?.removedByIndex).toEqual(new Map())
  expect([trace.calls, trace.statements, trace.events, tokens]).toEqual([[], [], [], []])
})

test('a running cleaner reports an error without a code as UNKNOWN', async () => {
  const store = await open()
  const bug = (): never => {
    throw new TypeError('A fault on purpose.')
  }
  plan = ({ table }) => (table === 'tasks' ? { before: bug } : undefined)
  const cleaner = startCleaner(store)
  await until(() => ofKind('cleaner_failed').length > 0)
  await cleaner.stop()
  expect(ofKind('cleaner_failed')[0]).toEqual({ kind: 'cleaner_failed', code: 'UNKNOWN' })
})

test('a cleaner reports no rounds of a shard that another process follows', async () => {
  const store = await open()
  await store.context.driver.shards[0]!.tasks.claim('clean-tail', 'another', 300_000)
  const cleaner = startCleaner(store)
  await until(async () => (await readCleanerReport(store)).updatedAt !== undefined)
  await cleaner.stop()
  expect(ofKind('round')).toEqual([])
})

test('a round reports its deleted rows by index and in sum', async () => {
  const store = await open([byUser, byTag])
  const id = store.newId()
  for (const [name, tag] of [
    ['by_user', 'x'],
    ['by_tag', 'x'],
    ['by_tag', 'y'],
  ] as const)
    await addRow(store, name, rowFor(store, name, id, { user_id: 'eve', published: 1, tags: [tag] }, 1))
  await store.put({ name: 'eve' }, { id })
  const cleaner = startCleaner(store)
  onTestFinished(() => cleaner.stop())
  await until(() => ofKind('round').some(({ removed }) => removed > 0))
  expect(ofKind('round').find(({ removed }) => removed > 0)).toMatchObject({
    removed: 3,
    removedByIndex: new Map([
      ['by_user', 1],
      ['by_tag', 2],
    ]),
  })
  expect(cleaner.status().totals.removed).toBe(3)
})
