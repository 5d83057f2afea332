import type { Time } from '@looseleaf/core'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { createLoopShare, type Loop, type LoopShare } from './loop-share.ts'

interface Setup {
  readonly share: LoopShare
  readonly time: Time
  readonly calls: { inFlight: number; entered: number }
  /** Turns that the share has given to other work. */
  readonly turns: () => number
  /** Lets the loop work for some milliseconds. */
  work(milliseconds: number): void
  /** Lets the loop wait for some milliseconds. */
  idle(milliseconds: number): void
}

/** A share whose loop is busy in every pause, unless `isFree`. */
function setup({ inFlight = 0, isFree = false } = {}): Setup {
  const time = leapingTime()
  const used = { idle: 0, active: 0 }
  const calls = { inFlight, entered: 0 }
  let turns = 0
  const loop: Loop = {
    elapsed: time.now,
    use: () => ({ ...used }),
    nextTurn: async () => void turns++,
  }
  const work = (milliseconds: number): void => {
    time.leap(milliseconds)
    used.active += milliseconds
  }
  const idle = (milliseconds: number): void => {
    time.leap(milliseconds)
    used.idle += milliseconds
  }
  const sleeping: Time = {
    ...time,
    async sleep(milliseconds, signal) {
      await time.sleep(milliseconds, signal)
      used[isFree ? 'idle' : 'active'] += milliseconds
    },
  }
  return { share: createLoopShare(calls, loop), time: sleeping, calls, turns: () => turns, work, idle }
}

test('background work rests after each slice, without a pause while the store has no calls', async () => {
  const { share, time, turns, work } = setup()
  work(1)
  expect(share.rest(time)).toBeUndefined()
  work(1)
  expect(await share.rest(time)).toBe(0)
  expect(turns()).toBe(1)
  expect(share.rest(time)).toBeUndefined()
})

test('background work pauses for 19 times its work while calls keep the event loop busy', async () => {
  const { share, time, work } = setup({ inFlight: 1 })
  work(5)
  expect(await share.rest(time)).toBe(95)
  expect(share.rest(time)).toBeUndefined()
})

test('a pause takes a second at most, so that background work never stops', async () => {
  const { share, time, work } = setup({ inFlight: 1 })
  work(60_000)
  expect(await share.rest(time)).toBe(1_000)
})

test('background work pauses for a second after the last call has begun, because a request is more than its calls', async () => {
  const { share, time, calls, work, idle } = setup()
  work(2)
  calls.entered++
  expect(await share.rest(time)).toBe(38)
  work(2)
  expect(await share.rest(time)).toBe(38)
  idle(1_000)
  work(2)
  expect(await share.rest(time)).toBe(0)
})

test('a call that begins in the turn for other work begins a pause', async () => {
  const { share, time, calls, work, turns } = setup()
  work(2)
  const resting = share.rest(time)
  expect(turns()).toBe(1)
  calls.entered++
  expect(await resting).toBe(38)
})

test('a pause ends when the event loop has been idle for a slice, because its calls wait for servers', async () => {
  const { share, time, work } = setup({ inFlight: 1, isFree: true })
  work(5)
  expect(await share.rest(time)).toBe(2)
})

test('a pause is over at once if the event loop was idle during the slice, because background work waited for servers', async () => {
  const { share, time, work, idle } = setup({ inFlight: 1 })
  work(1)
  idle(2)
  work(1)
  expect(await share.rest(time)).toBe(0)
})

test('time in which the event loop waits is no background work', async () => {
  const { share, time, turns, work, idle } = setup()
  work(1)
  idle(500)
  expect(await share.rest(time)).toBe(0)
  work(0.5)
  expect(share.rest(time)).toBeUndefined()
  expect(turns()).toBe(0)
  work(0.5)
  await share.rest(time)
  expect(turns()).toBe(1)
})

test('all background work of a store shares one slice, and waits for the pause of the first that rests', async () => {
  const { share, time, work } = setup({ inFlight: 1 })
  work(5)
  const first = share.rest(time)
  const second = share.rest(time)
  expect(await Promise.all([first, second])).toEqual([95, 0])
  expect(share.rest(time)).toBeUndefined()
})

test('work gives way for five seconds after a pause for calls, and not after a turn of the event loop alone', async () => {
  const { share, time, calls, work, idle } = setup()
  work(2)
  await share.rest(time)
  expect(share.gaveWay()).toBe(false)
  calls.inFlight++
  work(2)
  await Promise.all([share.rest(time), share.rest(time)])
  idle(4_999)
  expect(share.gaveWay()).toBe(true)
  idle(1)
  expect(share.gaveWay()).toBe(false)
})

test('a signal ends the wait for a pause, and others go on to wait', async () => {
  const { share, time, work } = setup({ inFlight: 1 })
  work(5)
  const aborted = share.rest(time, AbortSignal.abort())
  const other = share.rest(time)
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await other).toBe(0)
})
