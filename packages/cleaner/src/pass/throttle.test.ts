import { LooseleafError, type ErrorCode } from '@looseleaf/core'
import { describe, expect, it, test } from 'vitest'
import { leapingTime, type LeapingTime } from '../../test/times.ts'
import { createThrottle, sizeClass, type Throttle } from './throttle.ts'

test('without a rate nothing waits for what was read', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, undefined)
  await throttle.take(0, 1_000_000, undefined)
  expect(time.slept).toBe(0)
  expect(throttle.maxPage).toBe(Infinity)
})

test('rows are paid for by waiting, each of them once', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 100)
  expect(throttle.maxPage).toBe(100)
  await throttle.take(0, 50, undefined)
  expect(time.slept).toBe(500)
  await throttle.take(0, 200, undefined)
  expect(time.slept).toBe(2_500)
  // Time that has passed anyhow pays for nothing but what is taken then.
  time.leap(10_000)
  await throttle.take(0, 10, undefined)
  expect(time.slept).toBe(2_600)
})

test('of several who read at the same time each waits for all before it', async () => {
  const time = leapingTime()
  const throttle = createThrottle(
    { ...time, now: () => 0, sleep: (ms, signal) => time.sleep(ms, signal) },
    10,
  )
  await Promise.all([throttle.take(0, 1, undefined), throttle.take(0, 1, undefined)])
  expect(time.slept).toBe(100 + 200)
})

test('nothing is waited for when nothing was read', async () => {
  const time = leapingTime()
  let sleeps = 0
  const throttle = createThrottle({ ...time, sleep: async () => void sleeps++ }, 10)
  await throttle.take(0, 0, undefined)
  expect(sleeps).toBe(0)
})

test('a page has one row at the least', () => {
  expect(createThrottle(leapingTime(), 0.5).maxPage).toBe(1)
  expect(createThrottle(leapingTime(), 2.9).maxPage).toBe(2)
})

test.each([0, -1, Number.NaN])('a rate of %s is refused', (rate) => {
  expect(() => createThrottle(leapingTime(), rate)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('a signal ends the wait', async () => {
  const throttle = createThrottle(leapingTime(), 1)
  await expect(throttle.take(0, 1, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
})

const page = (): string => 'page'

/** Sends statements to a shard that takes so long for each. */
async function send(
  throttle: Throttle,
  time: LeapingTime,
  milliseconds: readonly number[],
  shard = 0,
): Promise<void> {
  for (const each of milliseconds) await throttle.send(shard, page, async () => time.leap(each), undefined)
}

const times = (count: number, milliseconds: number): number[] =>
  Array.from({ length: count }, () => milliseconds)

describe('a shard that answers slower than when it was left alone', () => {
  it('gets rests in proportion, and the reason is told', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, times(10, 10))
    expect(time.slept).toBe(0)
    expect(throttle.lately()).toEqual({ throttledBy: undefined, waited: 0 })
    // Four times as slow: as much rest as work, from the third of the last five on.
    await send(throttle, time, times(13, 40))
    expect(time.slept).toBeCloseTo(400, -1)
    const { throttledBy, waited } = throttle.lately()
    expect(throttledBy).toBe('latency')
    expect(waited).toBeCloseTo(400 / (100 + 520 + 400), 1)
  })

  it('is worked on all the same, however slow it is', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 60_000)])
    const before = time.slept
    await send(throttle, time, [60_000])
    expect(time.slept - before).toBe(1_000)
  })

  it('keeps nobody from other shards', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 1_000)])
    await send(throttle, time, times(10, 1_000), 1)
    expect(time.slept).toBeLessThan(4_000)
    const before = time.slept
    await send(throttle, time, [10], 1)
    expect(time.slept).toBe(before)
  })

  it('has had its rest when time has passed anyhow', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 100)])
    const before = time.slept
    time.leap(5_000)
    await send(throttle, time, [100])
    expect(time.slept).toBe(before)
  })

  it('is not seen in answers of another kind', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    for (let i = 0; i < 10; i++) {
      await throttle.send(
        0,
        () => 'short',
        async () => time.leap(5),
        undefined,
      )
      await throttle.send(
        0,
        () => 'long',
        async () => time.leap(500),
        undefined,
      )
    }
    expect(time.slept).toBe(0)
  })

  it('that wait ends with the signal', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 100)])
    let sent = 0
    const sending = throttle.send(0, page, async () => void sent++, AbortSignal.abort())
    await expect(sending).rejects.toMatchObject({ code: 'ABORTED' })
    expect(sent).toBe(0)
  })
})

describe('a statement that fails because others are at the shard', () => {
  const failing = (code: ErrorCode, failures: number): (() => Promise<number>) => {
    let calls = 0
    return async () => {
      if (++calls <= failures) throw new LooseleafError(code, 'Not now.')
      return calls
    }
  }

  it('is sent again, each time later, and the reason is told', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    expect(await throttle.send(0, page, failing('SHARD_BUSY', 4), undefined)).toBe(5)
    expect(time.slept).toBe(250 + 500 + 1_000 + 2_000)
    expect(throttle.lately()).toEqual({ throttledBy: 'lock waits', waited: 1 })
  })

  it.each([
    ['SHARD_BUSY', 4],
    ['DEADLINE', 1],
    ['SHARD_UNAVAILABLE', 0],
    ['BODY_DAMAGED', 0],
  ] as const)('%s is sent again %i times', async (code, again) => {
    const throttle = createThrottle(leapingTime(), undefined)
    expect(await throttle.send(0, page, failing(code, again), undefined)).toBe(again + 1)
    const sending = throttle.send(0, page, failing(code, again + 1), undefined)
    await expect(sending).rejects.toMatchObject({ code })
  })

  it('what is no refusal of Looseleaf is thrown at once', async () => {
    const time = leapingTime()
    const sending = createThrottle(time, undefined).send(
      0,
      page,
      () => Promise.reject(new TypeError('?')),
      undefined,
    )
    await expect(sending).rejects.toThrow(TypeError)
    expect(time.slept).toBe(0)
  })
})

test('of several reasons the greatest is told, and all are forgotten', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 10)
  await send(throttle, time, [...times(10, 10), ...times(4, 100)])
  expect(throttle.lately().throttledBy).toBe('latency')
  await throttle.take(0, 50, undefined)
  time.leap(1_000)
  expect(throttle.lately()).toMatchObject({ throttledBy: 'rowsPerSecond' })
  time.leap(30_000)
  expect(throttle.lately()).toEqual({ throttledBy: undefined, waited: 0 })
})

test('sizes within a factor of two are one class', () => {
  expect([0, 1, 2, 3, 4, 5, 8, 9].map(sizeClass)).toEqual(['0', '1', '2', '3', '3', '4', '4', '5'])
})
