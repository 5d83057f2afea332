import { LooseleafError, type Driver, type EntityId, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { type FaultPlan, faultyDriver, keepOpen, unknownOutcome } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const unique = defineIndex('unique_name', { properties: { name: 'string' }, shardOn: 'name', unique: true })

const router = farRouter()

let memory: Driver
/** Another store on the same shards, without faults. */
let rival: DataStore
let id: EntityId
let plan: FaultPlan
/** Milliseconds. Only tests move the clock. */
let now: number

/** A clock whose sleeps end at once and take no time. */
const time: Time = { now: () => now, sleep: async () => {} }

function open(
  options: { writeTimeoutMs?: number; onWarning?: (message: string) => void } = {},
): Promise<DataStore> {
  return DataStore.open({
    shards: keepOpen(faultyDriver(memory, (call) => plan(call))),
    time,
    router,
    ...options,
  })
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byName, unique], migrate: true, router })
  id = (await rival.put({ name: 'first' })).id
  plan = () => undefined
  now = Date.now()
})
afterEach(() => memory.close())

describe('statements that the database has undone', () => {
  const undone = (): never => {
    throw new LooseleafError('SHARD_BUSY', 'A deadlock was broken.', { undone: true })
  }
  /** Undoes each of these operations this many times. */
  function undoing(times: number, ...operations: readonly string[]): Record<string, number> {
    const counts: Record<string, number> = {}
    plan = ({ operation }) => {
      if (!operations.includes(operation)) return undefined
      const count = (counts[operation] = (counts[operation] ?? 0) + 1)
      return count <= times ? { before: undone } : undefined
    }
    return counts
  }
  it('a write begins another attempt after its claims, its index rows or its entity were undone', async () => {
    const store = await open()
    const counts = undoing(3, 'replace', 'upsert', 'take')
    await store.put({ name: 'mine' }, { id })
    for (const operation of ['take', 'upsert', 'replace']) expect(counts[operation]).toBeGreaterThan(3)
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
    await expect(rival.put({ name: 'mine' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: id })
  })

  it('a put without an id keeps the id that was made for it', async () => {
    const store = await open()
    const counts = undoing(2, 'insert')
    const { id: fresh, created } = await store.put({ name: 'fresh' })
    expect([counts['insert'], created]).toEqual([3, true])
    expect(await rival.get(fresh)).toEqual({ id: fresh, name: 'fresh' })
  })

  it('a write ends with DEADLINE after writeTimeoutMs, and its error has the reason', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    let attempts = 0
    plan = ({ operation }) => {
      if (operation !== 'replace') return undefined
      attempts++
      now += 2_000
      return { before: undone }
    }
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({
      code: 'DEADLINE',
      retryable: true,
      unknownOutcome: false,
      message: expect.stringContaining('A deadlock was broken.'),
      cause: { code: 'SHARD_BUSY', undone: true },
    })
    expect(attempts).toBe(3)
    expect(await rival.get(id)).toEqual({ id, name: 'first' })
  })

  it('a write fails at once if the shard is full', async () => {
    const store = await open()
    let attempts = 0
    plan = ({ operation }) => {
      if (operation !== 'replace') return undefined
      attempts++
      return {
        before() {
          throw new LooseleafError('SHARD_BUSY', 'The server takes no more connections.')
        },
      }
    }
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({ code: 'SHARD_BUSY' })
    expect(attempts).toBe(1)
  })

  it('an attempt without an answer keeps the outcome unknown although a later attempt was undone', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    let attempts = 0
    plan = ({ operation }) => {
      if (operation !== 'replace') return undefined
      now += 3_000
      return ++attempts === 1
        ? {
            before() {
              throw unknownOutcome()
            },
          }
        : { before: undone }
    }
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(attempts).toBe(2)
  })

  it('a commit without an answer is found although the look for it is undone at first', async () => {
    const store = await open()
    let commits = 0
    let flushes = 0
    const lost = (): never => {
      throw unknownOutcome()
    }
    plan = ({ operation }) => {
      if (operation === 'replace' && ++commits === 1) return { after: lost }
      return operation === 'flush' && ++flushes <= 2 ? { before: undone } : undefined
    }
    await store.put({ name: 'mine' }, { id })
    expect([commits, flushes]).toEqual([1, 3])
  })

  it('undone deletes are retried without a warning', async () => {
    const warnings: string[] = []
    const store = await open({ onWarning: (message) => void warnings.push(message) })
    const counts = undoing(3, 'remove')
    await store.put({ name: 'mine' }, { id })
    await store.delete(id)
    await store.settled()
    expect(counts['remove']).toBeGreaterThan(3)
    expect(warnings).toEqual([])
  })
})
