import { LooseleafError, type EntityId, type StoreEvent } from '@looseleaf/core'
import type { EntityInsert } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { localRouter } from '@looseleaf-tooling/kit/far-router'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: ReferenceDriver
/** Milliseconds. Only faults and pauses move the clock. */
let now: number
/** Faults of the swaps of the entity, in their order. */
let faults: Fault[]
let plan: (call: FaultyCall) => Fault | undefined
/** Calls of the driver, without looks at the floor. */
let calls: FaultyCall[]
/** Number of pauses, and of attempts that began before the end of one. */
let slept: number
let early: number
let events: StoreEvent[]
let store: DataStore
/** Another process, without faults. */
let rival: DataStore
let id: EntityId

beforeEach(async () => {
  memory = createReferenceDriver({ shards: 2 })
  now = Date.now()
  faults = []
  plan = () => undefined
  early = 0
  slept = 0
  events = []
  let pauses = 0
  const time = {
    now: () => now,
    async sleep(milliseconds: number, signal?: AbortSignal) {
      now += milliseconds
      // Sleeps with a signal belong to the deletes of lost rows.
      if (signal !== undefined) return
      slept++
      pauses++
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
      pauses--
    },
  }
  const driver = faultyDriver(memory, (call) => {
    if (call.operation !== 'floor') calls.push(call)
    if (call.operation !== 'replace') return plan(call)
    early += pauses
    return faults.shift() ?? plan(call)
  })
  const options = { indexes: [byName], router: localRouter(), time, writeTimeoutMs: 5_000 }
  calls = []
  const observer = { happened: (event: StoreEvent) => void events.push(event) }
  store = await DataStore.open({ ...options, shards: keepOpen(driver), migrate: true, observer })
  rival = await DataStore.open({ ...options, shards: keepOpen(memory) })
  id = (await rival.put({ name: 'first' })).id
  calls = []
})
afterEach(async () => {
  await store.close()
  await rival.close()
})

const times = (length: number, fault: Fault): Fault[] => Array.from({ length }, () => fault)
const throwing = (reason: Error): Fault => ({ before: () => Promise.reject(reason) })
const deadlock = throwing(
  new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true }),
)
const stale = throwing(new LooseleafError('STALE_EPOCH', 'The catalog has another epoch.'))
const lostRequest = throwing(unknownOutcome())
const overtake: Fault = { before: async () => void (await rival.put({ n: 1 }, { id })) }
const after = (milliseconds: number, { before }: Fault): Fault => ({
  async before() {
    now += milliseconds
    await before!()
  },
})

const put = () => store.put({ name: 'mine' }, { id })
const named = (): string[] => calls.map(({ table, operation }) => `${table} ${operation}`)
const countOf = (call: string): number => named().filter((name) => name === call).length
const errorOf = async (write: Promise<unknown>): Promise<LooseleafError> => {
  try {
    await write
  } catch (error) {
    return error as LooseleafError
  }
  throw new Error('It was written.')
}

test('attempts that deadlocks undo are followed by pauses from the third on, and an observer hears of each', async () => {
  faults = times(4, deadlock)
  events = []
  await put()
  expect([slept, early]).toEqual([2, 0])
  const { name: shard } = memory.shards[0]!
  expect(events.filter(({ kind }) => kind === 'attempt')).toEqual(
    Array.from({ length: 4 }, () => ({ kind: 'attempt', outcome: 'undone', shard })),
  )
})

describe('the end of a write', () => {
  test('a write whose time is over has no error of an attempt before one that another write has overtaken', async () => {
    faults = [deadlock, ...times(9, after(2_000, overtake))]
    const { code, message, cause } = await errorOf(put())
    expect([code, cause]).toEqual(['DEADLINE', undefined])
    expect(message).toBe(`Entity ${id}: 4 attempts failed within writeTimeoutMs, and no further one begins.`)
  })

  test('a write whose time is over has the error of its last attempt', async () => {
    faults = [overtake, ...times(9, after(2_000, deadlock))]
    const { message, cause } = await errorOf(put())
    expect(cause).toMatchObject({ code: 'SHARD_BUSY' })
    expect(message).toMatch(
      /: 4 attempts failed .*\. The last one failed with: A deadlock \(a fault on purpose\)\.$/,
    )
  })

  test('a write without an answer has the number of its attempts in its cause', async () => {
    faults = times(9, after(3_000, lostRequest))
    expect(await errorOf(put())).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'DEADLINE', message: expect.stringContaining(': 2 attempts failed within') },
    })
  })

  test('a write that has lost 64 races says so', async () => {
    faults = times(70, overtake)
    const { code, message } = await errorOf(put())
    expect([code, message]).toEqual(['CONFLICT', `Entity ${id}: other writers came first 64 times in a row.`])
    expect(early).toBe(0)
  })
})

describe('a catalog', () => {
  test('a lost race reads no catalog', async () => {
    faults = [overtake]
    await put()
    expect(named().filter((name) => name.startsWith('catalog'))).toEqual([])
  })

  test('attempts that met a changed epoch are no tries, and those that met the same epoch are', async () => {
    faults = times(65, { before: async () => void (await changeCatalog(memory, (indexes) => indexes)) })
    await put()
    expect(countOf('entities replace')).toBe(66)
    faults = times(70, stale)
    await expect(put()).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(countOf('entities replace')).toBe(66 + 64)
  })
})

describe('a committed write whose answer is lost', () => {
  beforeEach(() => {
    faults = [{ after: () => Promise.reject(unknownOutcome()) }]
  })

  test('a flush that the database undoes is made again', async () => {
    let flushes = 0
    plan = ({ operation }) => (operation === 'flush' && flushes++ === 0 ? deadlock : undefined)
    await put()
    expect([flushes, countOf('entities replace')]).toEqual([2, 1])
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
  })

  test('a write whose flush is undone every time is OUTCOME_UNKNOWN after 63 of them', async () => {
    plan = ({ operation }) => (operation === 'flush' ? deadlock : undefined)
    await expect(put()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { code: 'CONFLICT' } })
    expect(named().filter((name) => name.endsWith(' flush'))).toHaveLength(63)
  })

  test('a write whose flush fails is OUTCOME_UNKNOWN with that error', async () => {
    plan = ({ operation }) =>
      operation === 'flush' ? throwing(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) : undefined
    await expect(put()).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'SHARD_UNAVAILABLE' },
    })
  })
})

describe('local rows', () => {
  const hasLocal = ({ operation, args }: FaultyCall): boolean =>
    operation === 'replace' && (args[0] as readonly EntityInsert[])[0]!.local !== undefined

  test('rows stay far after an attempt that local rows may have failed, also if another one follows', async () => {
    faults = [deadlock, deadlock]
    plan = (call) => (hasLocal(call) ? deadlock : undefined)
    await put()
    const far = ['entities read', 'index_by_name upsert', 'entities replace']
    expect(named().slice(0, 8)).toEqual(['entities read', 'entities replace', ...far, ...far])
  })

  test.each([new LooseleafError('SHARD_UNAVAILABLE', 'Away.'), new TypeError('a bug')])(
    'a commit with local rows that ends with "%s" is not repeated',
    async (reason) => {
      faults = [throwing(reason)]
      expect(await errorOf(put())).toEqual(reason)
      expect(named()).toEqual(['entities read', 'entities replace'])
      expect(hasLocal(calls[1]!)).toBe(true)
    },
  )
})
