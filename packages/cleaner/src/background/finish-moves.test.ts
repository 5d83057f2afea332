import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { LooseleafError } from '@looseleaf/core'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createMoveFinisher, type MoveFinisher } from './finish-moves.ts'

const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')

let driver: ReferenceDriver
let time: LeapingTime
let store: DataStore
let plan: FaultPlan
let sent: number
let errors: unknown[]
let stop: AbortController

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  errors = []
  stop = new AbortController()
  driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  const watched = faultyDriver(driver, (call) => {
    sent++
    return plan(call)
  })
  store = await openStore({ driver: watched, time, indexes: [] })
  sent = 0
})

/** Makes shard 0 give up a bucket. */
async function giveUp(): Promise<void> {
  const [shard] = driver.shards
  const departure = { move: 1, attempt: 1, buckets: '7', to: 1, end: 1 }
  await changeServes(shard!, (await loadShardCatalog(shard!))!, { owns: '0-6,8-2047', away: [departure] })
  await store.context.catalog.reload()
}

const createFinisher = (): MoveFinisher =>
  createMoveFinisher(store.context, { signal: stop.signal, rowsPerSecond: undefined }, (error) =>
    errors.push(error),
  )

/** Starts a look if one is due, and tells whether it has sent statements. */
async function looks(finisher: MoveFinisher): Promise<boolean> {
  sent = 0
  finisher.startDue()
  await finisher.ended()
  return sent > 0
}

test('a store that never moved a bucket sends no statement to find moves', async () => {
  const finisher = createFinisher()
  expect(await looks(finisher)).toBe(false)
  await giveUp()
  expect(await looks(finisher)).toBe(true)
})

test('moves whose source is to be emptied are looked for every ten seconds, by one look at a time', async () => {
  await giveUp()
  const finisher = createFinisher()
  const { promise, resolve } = Promise.withResolvers<void>()
  plan = () => ({ before: () => promise })
  const begin = async (): Promise<number> => {
    finisher.startDue()
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done))
    return sent
  }
  sent = 0
  const ofOneLook = await begin()
  time.leap(10_000)
  expect([ofOneLook > 0, await begin()]).toEqual([true, ofOneLook])
  resolve()
  await finisher.ended()
  time.leap(9_999)
  expect(await looks(finisher)).toBe(false)
  time.leap(1)
  expect(await looks(finisher)).toBe(true)
})

test('an error of a look is reported, unless the cleaner has ended', async () => {
  await giveUp()
  const finisher = createFinisher()
  plan = () => ({ before: () => Promise.reject(away) })
  await looks(finisher)
  expect(errors).toEqual([away])
  time.leap(10_000)
  plan = () => ({
    before() {
      stop.abort()
      throw away
    },
  })
  expect(await looks(finisher)).toBe(true)
  expect(errors).toEqual([away])
})
