import { LooseleafError, type ErrorCode } from '@looseleaf/core'
import { describe, expect, it, test } from 'vitest'
import { leapingTime, steppedTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { createThrottle, sizeClass, type Throttle } from './throttle.ts'

test('without a rate, reads cause no wait', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, undefined)
  await throttle.take(0, 1_000_000, undefined)
  expect(time.slept).toBe(0)
  expect(throttle.maxPage).toBe(Infinity)
})

test('each row read costs a wait according to the rate, once', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 100)
  expect(throttle.maxPage).toBe(100)
  await throttle.take(0, 50, undefined)
  expect(time.slept).toBe(500)
  await throttle.take(0, 200, undefined)
  expect(time.slept).toBe(2_500)
  // Idle time does not accumulate credit for later reads.
  time.leap(10_000)
  await throttle.take(0, 10, undefined)
  expect(time.slept).toBe(2_600)
})

test('concurrent reads wait for each other', async () => {
  const time = leapingTime()
  const throttle = createThrottle(
    { ...time, now: () => 0, sleep: (ms, signal) => time.sleep(ms, signal) },
    10,
  )
  await Promise.all([throttle.take(0, 1, undefined), throttle.take(0, 1, undefined)])
  expect(time.slept).toBe(100 + 200)
})

test('a small read waits for a portion of a large one that began before, and not for all of it', async () => {
  const time = steppedTime()
  const throttle = createThrottle(time, 10)
  const ended: string[] = []
  const large = throttle.take(0, 50, undefined).then(() => ended.push('large'))
  const small = throttle.take(1, 10, undefined).then(() => ended.push('small'))
  for (let second = 0; second < 2; second++) await time.step(1_000)
  expect(ended).toEqual(['small'])
  for (let second = 2; second < 6; second++) await time.step(1_000)
  await Promise.all([large, small])
  expect(ended).toEqual(['small', 'large'])
})

test('a long wait is interrupted for other work, such as the renewal of a lease', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 10)
  const waits: number[] = []
  const onWait = async (): Promise<void> => void waits.push(time.slept)
  await throttle.take(0, 15, undefined, { everyMs: 400, onWait })
  expect(waits).toEqual([400, 800, 1_000, 1_400, 1_500])
})

test('a read of no rows causes no wait', async () => {
  const time = leapingTime()
  let sleeps = 0
  const throttle = createThrottle({ ...time, sleep: async () => void sleeps++ }, 10)
  await throttle.take(0, 0, undefined)
  expect(sleeps).toBe(0)
})

test('a page has at least one row', () => {
  expect(createThrottle(leapingTime(), 0.5).maxPage).toBe(1)
  expect(createThrottle(leapingTime(), 2.9).maxPage).toBe(2)
})

test('a signal ends the wait', async () => {
  const throttle = createThrottle(leapingTime(), 1)
  await expect(throttle.take(0, 1, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
})

const page = (): string => 'page'

/** Sends statements to a shard that takes this long for each. */
async function send(
  throttle: Throttle,
  time: LeapingTime,
  milliseconds: readonly number[],
  shard = 0,
): Promise<void> {
  for (const latency of milliseconds)
    await throttle.send(shard, page, async () => time.leap(latency), undefined)
}

const times = (count: number, milliseconds: number): number[] =>
  Array.from({ length: count }, () => milliseconds)

describe('a shard that answers slower than when idle', () => {
  it('a slow shard gets pauses in proportion, and the reason is reported', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, times(10, 10))
    expect(time.slept).toBe(0)
    expect(throttle.recentWaits()).toEqual({ throttledBy: undefined, waited: 0 })
    // The shard is four times as slow, so it rests as long as it works, once three of the last five answers were slow.
    await send(throttle, time, times(13, 40))
    expect(time.slept).toBeCloseTo(400, -1)
    const { throttledBy, waited } = throttle.recentWaits()
    expect(throttledBy).toBe('latency')
    expect(waited).toBeCloseTo(400 / (100 + 520 + 400), 1)
  })

  it('a very slow shard still gets statements, with pauses of at most a second', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 60_000)])
    const before = time.slept
    await send(throttle, time, [60_000])
    expect(time.slept - before).toBe(1_000)
  })

  it('a slow shard does not delay work on other shards', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 1_000)])
    await send(throttle, time, times(10, 1_000), 1)
    expect(time.slept).toBeLessThan(4_000)
    const before = time.slept
    await send(throttle, time, [10], 1)
    expect(time.slept).toBe(before)
  })

  it('time that passes otherwise counts as a pause', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 100)])
    const before = time.slept
    time.leap(5_000)
    await send(throttle, time, [100])
    expect(time.slept).toBe(before)
  })

  it('latencies are compared only with those of the same kind', async () => {
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

  it('a signal ends the pause', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    await send(throttle, time, [...times(10, 10), ...times(3, 100)])
    let sent = 0
    const sending = throttle.send(0, page, async () => void sent++, AbortSignal.abort())
    await expect(sending).rejects.toMatchObject({ code: 'ABORTED' })
    expect(sent).toBe(0)
  })
})

describe('a statement that fails because the shard is busy', () => {
  const failing = (code: ErrorCode, failures: number): (() => Promise<number>) => {
    let calls = 0
    return async () => {
      if (++calls <= failures) throw new LooseleafError(code, 'Not now.')
      return calls
    }
  }

  it('a busy shard causes retries with growing pauses, and the reason is reported', async () => {
    const time = leapingTime()
    const throttle = createThrottle(time, undefined)
    expect(await throttle.send(0, page, failing('SHARD_BUSY', 4), undefined)).toBe(5)
    expect(time.slept).toBe(250 + 500 + 1_000 + 2_000)
    expect(throttle.recentWaits()).toEqual({ throttledBy: 'lock waits', waited: 1 })
  })

  it.each([
    ['SHARD_BUSY', 4],
    ['DEADLINE', 1],
    ['SHARD_UNAVAILABLE', 0],
    ['BODY_DAMAGED', 0],
  ] as const)('`%s` is retried %i times', async (code, retries) => {
    const throttle = createThrottle(leapingTime(), undefined)
    expect(await throttle.send(0, page, failing(code, retries), undefined)).toBe(retries + 1)
    const sending = throttle.send(0, page, failing(code, retries + 1), undefined)
    await expect(sending).rejects.toMatchObject({ code })
  })

  it('an unknown error is thrown at once', async () => {
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

test('the main reason for waits is reported, and forgotten after half a minute', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 10)
  await send(throttle, time, [...times(10, 10), ...times(4, 100)])
  expect(throttle.recentWaits().throttledBy).toBe('latency')
  await throttle.take(0, 50, undefined)
  time.leap(1_000)
  expect(throttle.recentWaits()).toMatchObject({ throttledBy: 'rowsPerSecond' })
  time.leap(30_000)
  expect(throttle.recentWaits()).toEqual({ throttledBy: undefined, waited: 0 })
})

test('pauses for calls of the process come before statements and between rows, and are reported', async () => {
  const time = leapingTime()
  const share = {
    async rest() {
      await time.sleep(20)
      return 20
    },
    gaveWay: () => true,
  }
  const throttle = createThrottle(time, undefined, share)
  await throttle.send(0, page, async () => time.leap(10), undefined)
  await throttle.rest(undefined)
  expect(time.slept).toBe(40)
  expect(throttle.givesWay()).toBe(true)
  expect(throttle.recentWaits()).toEqual({ throttledBy: 'calls', waited: 0.8 })
})

test('an urgent throttle gives way to no call', () => {
  const throttle = createThrottle(leapingTime(), undefined)
  expect(throttle.rest(undefined)).toBeUndefined()
  expect(throttle.givesWay()).toBe(false)
})

test('sizes within a factor of two are one class', () => {
  expect([0, 1, 2, 3, 4, 5, 8, 9].map(sizeClass)).toEqual(['0', '1', '2', '3', '3', '4', '4', '5'])
})
