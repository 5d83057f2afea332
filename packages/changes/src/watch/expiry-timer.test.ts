import type { Entity } from '@looseleaf/core'
import { steppedTime, type SteppedTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { createExpiryTimer, type ExpiryTimer } from './expiry-timer.ts'

let time: SteppedTime
let sleeps: number[]
let expired: number
let timer: ExpiryTimer

beforeEach(() => {
  time = steppedTime()
  sleeps = []
  expired = 0
  timer = create('until')
})

function create(expires: string | undefined): ExpiryTimer {
  const sleep: SteppedTime['sleep'] = (milliseconds, signal) => {
    sleeps.push(milliseconds)
    return time.sleep(milliseconds, signal)
  }
  return createExpiryTimer({ ...time, sleep }, expires, () => expired++)
}

const item = (milliseconds: number | null): Entity =>
  ({ until: milliseconds === null ? null : new Date(time.now() + milliseconds) }) as unknown as Entity

test('a timer tells of the first item that expires, and looks at the clock each second until then', async () => {
  timer.await([item(2_500), item(1_500), item(null)])
  await time.step(1_000)
  expect([sleeps, expired]).toEqual([[1_000, 500], 0])
  await time.step(499)
  expect(expired).toBe(0)
  await time.step(1)
  expect(expired).toBe(1)
  await time.step(5_000)
  expect([sleeps.length, expired]).toEqual([2, 1])
})

test('later items replace those of before, and a stop ends the wait', async () => {
  timer.await([item(500)])
  timer.await([item(2_000)])
  await time.step(500)
  expect(expired).toBe(0)
  await time.step(1_500)
  expect(expired).toBe(1)
  timer.await([item(500)])
  timer.stop()
  timer.stop()
  await time.step(5_000)
  expect(expired).toBe(1)
})

test('an item that has expired is told at once', () => {
  timer.await([item(0)])
  expect(expired).toBe(1)
})

test('items that do not expire need no clock', () => {
  timer.await([item(null)])
  timer.await([])
  create(undefined).await([item(500)])
  expect([sleeps, expired]).toEqual([[], 0])
})
