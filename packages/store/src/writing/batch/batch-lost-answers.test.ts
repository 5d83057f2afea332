import { LooseleafError, parseId, type Bag, type EntityId } from '@looseleaf/core'
import type { BatchRow } from '@looseleaf/core/internal'
import { faultyDriver, keepOpen, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { BatchUpdate } from './batch-item.ts'

let memory: ReferenceDriver
let time: LeapingTime
/** Faults of the commits of batches, in their order. */
let faults: Fault[]
let plan: (call: FaultyCall) => Fault | undefined
/** Batches as they were sent. */
let batches: (readonly BatchRow[])[]
/** Names of all calls. */
let sent: string[]
let store: DataStore
/** Another process, without faults. */
let rival: DataStore
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = createReferenceDriver({ shards: 1 })
  time = leapingTime()
  faults = []
  plan = () => undefined
  sent = []
  batches = []
  const driver = faultyDriver(memory, (call) => {
    sent.push(call.operation)
    if (call.operation !== 'writeAll') return plan(call)
    batches.push(call.args[0] as readonly BatchRow[])
    return faults.shift()
  })
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time, writeTimeoutMs: 1_000 })
  rival = await DataStore.open({ shards: keepOpen(memory), time })
  a = (await rival.insert({ n: 1 })).id
  b = rival.newId({ near: a })
  await rival.insert({ n: 1 }, { id: b })
  sent.length = 0
})
afterEach(async () => {
  await store.close()
  await rival.close()
})

const count = (of: EntityId): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, n: Number(bag['n']) + 1 }),
})
const numbersOf = async (...ids: EntityId[]): Promise<unknown[]> =>
  (await rival.getMany(ids)).map((entity) => entity?.['n'])

const lostRequest: Fault = { before: () => Promise.reject(unknownOutcome()) }
const lostAnswer: Fault = { after: () => Promise.reject(unknownOutcome()) }

/** Returns the same fault for so many calls. */
const times = (length: number, fault: Fault): Fault[] => Array.from({ length }, () => fault)

/** Lets the first call of this kind meet a fault. */
function atFirst(operation: string, fault: Fault): void {
  plan = (call) => {
    if (call.operation !== operation) return undefined
    plan = () => undefined
    return fault
  }
}

describe('a committed batch whose answer is lost', () => {
  /** Loses the answer of the commit, and returns a crash that loses the commit as well. */
  function undone(): () => void {
    const shard = memory.shards[0]!
    const state = shard.state()
    faults = [lostAnswer]
    return () => shard.fallBack(state, 'entities')
  }

  test('a commit that a crash undoes before it is durable is made again', async () => {
    atFirst('flush', { before: undone() })
    await store.batch([count(a), count(b)])
    expect([batches.length, ...(await numbersOf(a, b))]).toEqual([2, 2, 2])
  })

  test('a commit is found although its answer is lost at the end of the time', async () => {
    faults = [
      {
        after() {
          time.leap(1_000)
          throw unknownOutcome()
        },
      },
    ]
    await store.batch([count(a), count(b)])
    expect(await numbersOf(a, b)).toEqual([2, 2])
    expect(batches).toHaveLength(1)
  })

  test('inserts that a crash undoes during the look are made again', async () => {
    atFirst('readVersions', { after: undone() })
    const [first, second] = await store.batch([{ insert: { n: 1 } }, { insert: { n: 2 } }])
    expect([batches.length, ...(await numbersOf(first.id, second.id))]).toEqual([2, 1, 2])
  })

  test('a flush that the database undoes is made again', async () => {
    faults = [lostAnswer]
    const error = new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
    atFirst('flush', { before: () => Promise.reject(error) })
    await store.batch([count(a), count(b)])
    expect(sent.filter((operation) => operation === 'flush')).toHaveLength(2)
    expect([batches.length, ...(await numbersOf(a, b))]).toEqual([1, 2, 2])
  })

  test('a batch is OUTCOME_UNKNOWN with the error of a flush that fails', async () => {
    faults = [lostAnswer]
    const error = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    atFirst('flush', { before: () => Promise.reject(error) })
    await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'SHARD_UNAVAILABLE' },
    })
    expect(batches.length).toBe(1)
  })

  test('a held entity at its version does not deny a commit whose other entities were written again', async () => {
    faults = [
      {
        async after() {
          await rival.put({ n: 9 }, { id: a })
          throw unknownOutcome()
        },
      },
    ]
    const { version } = await rival.put({ n: 1 }, { id: b })
    await expect(store.batch([count(a), { check: b, ifVersion: version }])).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'CONFLICT' },
    })
    expect([batches.length, ...(await numbersOf(a))]).toEqual([1, 9])
    // Further looks would find the same.
    expect(sent.filter((operation) => operation === 'readVersions')).toHaveLength(1)
  })

  test('a tombstone that another process gives a held entity, with the version of the batch, is no commit of it', async () => {
    const { version } = await rival.put({ n: 1 }, { id: b })
    faults = [
      {
        async before() {
          const { epoch } = (await memory.shards[0]!.catalog.load())!
          const row = { id: parseId(b), base: version, version: batches[0]![0]!.version!, body: null }
          expect(await memory.shards[0]!.entities.replace([row], { epoch })).toEqual([true])
          throw unknownOutcome()
        },
      },
    ]
    await expect(store.batch([count(a), { check: b, ifVersion: version }])).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      unknownOutcome: false,
    })
    expect(await numbersOf(a)).toEqual([1])
  })
})

describe('a batch whose request is lost', () => {
  test('inserts of missing entities are made again', async () => {
    faults = [lostRequest]
    const [first, second] = await store.batch([{ insert: { n: 1 } }, { insert: { n: 2 } }])
    expect([batches.length, ...(await numbersOf(first.id, second.id))]).toEqual([2, 1, 2])
  })

  test('a write of one entity between the look and the next attempt is looked at before another attempt', async () => {
    faults = [lostRequest]
    const { version } = await rival.put({ n: 1 }, { id: b })
    atFirst('readVersions', { after: async () => void (await rival.put({ n: 5 }, { id: b })) })
    // The look has proven by then that the attempt will never be committed.
    await expect(store.batch([count(a), { ...count(b), ifVersion: version }])).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      item: 1,
      unknownOutcome: false,
    })
  })

  test('a batch without any answer is OUTCOME_UNKNOWN at the end of its time', async () => {
    const slow: Fault = {
      before() {
        time.leap(400)
        throw unknownOutcome()
      },
    }
    faults = times(9, slow)
    await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'DEADLINE', message: expect.stringContaining('in 3 attempts within') },
    })
    expect(batches.length).toBe(3)
  })

  test('a batch without any answer is OUTCOME_UNKNOWN after 64 attempts', async () => {
    faults = times(70, lostRequest)
    await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'CONFLICT' },
    })
    expect(batches.length).toBe(64)
  })
})
