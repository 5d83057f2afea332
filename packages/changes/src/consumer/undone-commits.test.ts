import { randomBytes } from 'node:crypto'
import {
  createReferenceDriver,
  type ReferenceDriver,
  type ShardState,
} from '@looseleaf-tooling/kit/reference-driver'
import type { Bag } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan, type FaultyCall } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../test/search.ts'
import { consume, type Consumer } from './consume.ts'

let reference: ReferenceDriver
let store: DataStore
let consumer: Consumer
let plan: FaultPlan
let flushed: number
let rounds: number

beforeEach(async () => {
  reference = createReferenceDriver({ shards: 1 })
  plan = () => undefined
  flushed = rounds = 0
  const driver = faultyDriver({ shards: reference.shards, close: async () => {} }, (call) => {
    if (call.operation === 'flush' || call.operation === 'raiseFloor') flushed++
    if (call.operation === 'pageOfChanges') rounds++
    return plan(call)
  })
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
})

afterEach(async () => {
  await consumer.stop()
  await store.close()
})

/** Runs `act` once, before the first call that meets the condition. */
const once =
  (holds: (call: FaultyCall) => boolean, act: () => unknown, next: FaultPlan = () => undefined): FaultPlan =>
  (call) => {
    if (!holds(call)) return undefined
    plan = next
    return { before: async () => void (await act()) }
  }

it.each(['with other changes', 'without'])(
  'a consumer receives a state whose replacement a crash has undone after a page %s',
  async (changes) => {
    const received: unknown[] = []
    const { id } = await store.put({ n: 'stays' })
    if (changes === 'with other changes') await store.put({ n: 'other' })
    let durable: ShardState | undefined
    const crash = (): void => reference.shards[0]!.fallBack(durable!, 'everything')
    const replaceVisibly = async (): Promise<void> => {
      durable = reference.shards[0]!.state()
      await store.put({ n: 'undone' }, { id })
    }
    // The crash comes before the flushed commit that would prove the page: a flush, or the next raise of the floor.
    const isFlush = ({ operation }: FaultyCall): boolean =>
      operation === 'flush' || operation === 'raiseFloor'
    plan = once(({ operation }) => operation === 'pageOfChanges', replaceVisibly, once(isFlush, crash))
    consumer = consume(store, 'search', ({ entity }) => void received.push(entity?.['n']), {
      from: 'beginning',
      pollMs: 10,
    })
    await until(() => durable !== undefined && received.includes('stays'))
    expect(received).not.toContain('undone')
  },
)

it('a consumer receives a long state whose replacement a crash has undone while the page was read', async () => {
  const received: unknown[] = []
  // A body that a page leaves out, so that it is read after the page.
  const long = randomBytes(40_000).toString('base64')
  const { id } = await store.put({ n: 'stays', long })
  let durable: ShardState | undefined
  const crash = (): void => reference.shards[0]!.fallBack(durable!, 'everything')
  const replaceVisibly = async (): Promise<void> => {
    durable = reference.shards[0]!.state()
    await store.put({ n: 'undone', long }, { id })
  }
  const isFlush = ({ operation }: FaultyCall): boolean => operation === 'flush' || operation === 'raiseFloor'
  const isBodyRead = ({ table, operation }: FaultyCall): boolean =>
    table === 'entities' && operation === 'read'
  plan = once(isBodyRead, replaceVisibly, once(isFlush, crash))
  consumer = consume(store, 'search', ({ entity }) => void received.push(entity?.['n']), {
    from: 'beginning',
    pollMs: 10,
  })
  await until(() => received.length > 0)
  expect(durable).toBeDefined()
  expect(received).toEqual(['stays'])
})

it('an idle consumer flushes once a round, by raising the floor, and moves past empty stretches', async () => {
  consumer = consume(store, 'search', () => {}, { from: 'beginning', pollMs: 10 })
  await store.put({ n: 1 })
  await until(() => consumer.status().handled === 1)
  await until(() => rounds > 5)
  const before = { flushed, rounds }
  await until(() => rounds >= before.rounds + 10)
  expect(flushed - before.flushed).toBeLessThanOrEqual(rounds - before.rounds + 1)
  expect(consumer.status().shards[0]!.lagMs).toBeLessThan(1_000)
})

it('a retry of a failing change waits for a state whose replacement a crash has undone', async () => {
  const received: unknown[] = []
  const { id } = await store.put({ n: 'stays' })
  let durable: ShardState | undefined
  let isUndone = false
  const crash = (): void => {
    isUndone = true
    reference.shards[0]!.fallBack(durable!, 'everything')
  }
  const replaceVisibly = async (): Promise<void> => {
    durable = reference.shards[0]!.state()
    await store.put({ n: 'undone' }, { id })
  }
  const isFlush = ({ operation }: FaultyCall): boolean => operation === 'flush' || operation === 'raiseFloor'
  const handle = ({ entity }: { readonly entity?: Bag | undefined }): void => {
    received.push(entity?.['n'])
    if (isUndone) return
    plan = once(({ operation }) => operation === 'readBounded', replaceVisibly, once(isFlush, crash))
    throw new Error('The search engine is down.')
  }
  consumer = consume(store, 'search', handle, { from: 'beginning', pollMs: 10, retryMs: 5 })
  await until(() => received.length >= 2)
  expect(received).toEqual(['stays', 'stays'])
})
