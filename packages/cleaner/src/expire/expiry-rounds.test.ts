import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { LooseleafError } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { createThrottle } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createExpiryRounds, type ExpiryRounds } from './expiry-rounds.ts'

const expiring = defineIndex('expiring', { properties: { until: 'time' }, shardOn: 'id', expires: 'until' })
const expired = { until: new Date(0) }
const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')

let time: LeapingTime
let store: DataStore
let plan: FaultPlan
/** Number of scans of each shard. */
let scans: number[]
let errors: unknown[]
let stop: AbortController

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  scans = [0, 0]
  errors = []
  stop = new AbortController()
  const driver = faultyDriver(createReferenceDriver({ shards: 2, now: () => time.now() * 1000 }), (call) => {
    if (call.operation === 'scan') scans[call.shard]!++
    return plan(call)
  })
  store = await openStore({ driver, time, indexes: [expiring] })
})

const createRounds = (): ExpiryRounds =>
  createExpiryRounds(
    store.context,
    { signal: stop.signal, onProblem: undefined },
    createThrottle(time, undefined),
    (error) => errors.push(error),
  )

/** Starts a round, and returns the scans of all shards until it has ended. */
async function scansOf(rounds: ExpiryRounds, shard: number): Promise<number[]> {
  scans = [0, 0]
  rounds.start(shard)
  await rounds.ended()
  return scans
}

test('a round deletes the expired entities of its shard, and the next one is due after five seconds', async () => {
  for (const shard of [0, 0, 1]) await store.put(expired, { id: idOn(store, shard) })
  const rounds = createRounds()
  // One scan finds the rows, and the other one their end.
  expect(await scansOf(rounds, 0)).toEqual([2, 0])
  expect(rounds.deleted).toBe(2)
  time.leap(4_999)
  expect(await scansOf(rounds, 0)).toEqual([0, 0])
  expect(await scansOf(rounds, 1)).toEqual([0, 2])
  expect(rounds.deleted).toBe(3)
  time.leap(1)
  expect(await scansOf(rounds, 0)).toEqual([2, 0])
})

test('a shard has one round at a time, and `ended` waits for the rounds of all shards', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  plan = ({ operation }) => (operation === 'scan' ? { before: () => promise } : undefined)
  const rounds = createRounds()
  scans = [0, 0]
  for (const shard of [0, 0, 1]) rounds.start(shard)
  let hasEnded = false
  const ended = rounds.ended().then(() => (hasEnded = true))
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done))
  expect([scans, hasEnded]).toEqual([[1, 1], false])
  resolve()
  await ended
})

test('after a round that ended at its limit the next one is due at once, and goes on behind it', async () => {
  const ids = Array.from({ length: 1_100 }, () => idOn(store, 0))
  await store.putMany(ids.map((id) => ({ id, ...expired })))
  const rounds = createRounds()
  await scansOf(rounds, 0)
  expect(rounds.deleted).toBe(1_000)
  await scansOf(rounds, 0)
  expect(rounds.deleted).toBe(1_100)
})

test('an error of a round is reported, and the next one is due after five seconds', async () => {
  plan = ({ operation }) => (operation === 'scan' ? { before: () => Promise.reject(away) } : undefined)
  const rounds = createRounds()
  expect(await scansOf(rounds, 0)).toEqual([1, 0])
  expect(await scansOf(rounds, 0)).toEqual([0, 0])
  time.leap(5_000)
  expect(await scansOf(rounds, 0)).toEqual([1, 0])
  expect(errors).toEqual([away, away])
})

test('no error is reported after the end of the cleaner', async () => {
  plan = ({ operation }) =>
    operation === 'scan'
      ? {
          before() {
            stop.abort()
            throw away
          },
        }
      : undefined
  expect(await scansOf(createRounds(), 0)).toEqual([1, 0])
  expect(errors).toEqual([])
})
