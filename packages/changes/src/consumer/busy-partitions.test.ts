import { LooseleafError } from '@looseleaf/core'
import { placeAt } from '@looseleaf/protocol/internal'
import { steppedTime, type SteppedTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { createBusyPartitions, type BusyPartitions } from './busy-partitions.ts'
import type { HeldPartition } from './partition-leases.ts'

const LEASE_MS = 300

let time: SteppedTime
let sleeps: number
let saves: number
let failure: Error | undefined
let errors: unknown[]
let busy: BusyPartitions

beforeEach(() => {
  time = steppedTime()
  sleeps = saves = 0
  failure = undefined
  errors = []
  const held = [0, 1].map((number): HeldPartition => ({
    number,
    place: placeAt(0),
    since: 0,
    failing: new Map(),
    isHeld: true,
  }))
  const save = async (): Promise<void> => {
    saves++
    if (failure !== undefined) throw failure
  }
  const sleep: SteppedTime['sleep'] = (milliseconds, signal) => {
    sleeps++
    return time.sleep(milliseconds, signal)
  }
  busy = createBusyPartitions(
    { ...time, sleep },
    { held, save },
    LEASE_MS,
    (error) => void errors.push(error),
  )
})

const idle = (): readonly number[] => busy.idle().map(({ number }) => number)

/** Begins work of a partition that ends by `end`. */
function begin(number: number): { readonly work: Promise<unknown>; readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { work: busy.occupy(number, () => promise), end: resolve }
}

/** Tracks whether a promise has resolved. */
function over(promise: Promise<unknown>): { isOver: boolean } {
  const state = { isOver: false }
  void promise.then(() => (state.isOver = true))
  return state
}

test('a partition is busy until its last work has ended, and an error of work is reported', async () => {
  const [first, later] = [begin(0), begin(0)]
  expect([idle(), [...busy.numbers()]]).toEqual([[1], [0]])
  first.end()
  await first.work
  expect(idle()).toEqual([1])
  later.end()
  await later.work
  await time.step(0)
  expect([idle(), [...busy.numbers()]]).toEqual([[0, 1], []])
  const error = new Error('down')
  await busy.occupy(1, () => Promise.reject(error))
  await time.step(0)
  expect([errors, idle()]).toEqual([[error], [0, 1]])
})

test('a wait for work renews the leases three times per lease, and not after its end', async () => {
  const { work, end } = begin(0)
  const wait = over(busy.wait([work], 10_000))
  await time.step(99)
  expect(saves).toBe(0)
  await time.step(1)
  expect(saves).toBe(1)
  failure = new LooseleafError('SHARD_UNAVAILABLE', 'gone')
  await time.step(100)
  expect([saves, wait.isOver]).toEqual([2, false])
  end()
  await time.step(0)
  expect(wait.isOver).toBe(true)
  await time.step(1_000)
  expect(saves).toBe(2)
})

test('a wait ends with its time, or once the store is closed, although work goes on', async () => {
  const { work, end } = begin(0)
  const timed = over(busy.wait([work], 50))
  await time.step(49)
  expect(timed.isOver).toBe(false)
  await time.step(1)
  expect([timed.isOver, idle(), saves]).toEqual([true, [1], 0])
  const closed = over(busy.wait([work], 10_000))
  failure = new LooseleafError('CLOSED', 'closed')
  await time.step(100)
  expect([closed.isOver, saves]).toEqual([true, 1])
  end()
})

test('a wait for no work takes no time', async () => {
  await busy.wait([], 10_000)
  expect(sleeps).toBe(0)
})

test.each([undefined, new LooseleafError('CLOSED', 'closed')])(
  'all work is settled when it has ended, with leases that are renewed meanwhile: %s',
  async (error) => {
    failure = error
    const [first, second] = [begin(0), begin(1)]
    const settled = over(busy.settled())
    await time.step(100)
    await time.step(100)
    expect(saves).toBe(error === undefined ? 2 : 1)
    first.end()
    await time.step(0)
    expect(settled.isOver).toBe(false)
    second.end()
    await time.step(0)
    expect(settled.isOver).toBe(true)
  },
)
