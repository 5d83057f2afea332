import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runAtRate } from './run-at-rate.ts'

test('the time of a call that waits for others starts when the call was due', async () => {
  const { calls, times, due } = await runAtRate(() => sleep(30), {
    rate: 1000,
    seconds: 0.004,
    maxInFlight: 1,
  })
  expect(calls).toBe(4)
  expect(due).toHaveLength(4)
  // The fourth call was due after 3 ms, and waited for three calls of 30 ms each.
  expect(times.at(-1)).toBeGreaterThan(80)
})

test('no call begins before it is due', async () => {
  const { times } = await runAtRate(async () => {}, { rate: 700, seconds: 0.2, maxInFlight: 10 })
  expect(times).toHaveLength(140)
  expect(Math.min(...times)).toBeGreaterThan(0)
})

test('calls of the run-in are made at the same rate and not counted', async () => {
  let [called, atCounting] = [0, 0]
  const call = async (): Promise<void> => void called++
  const onCounting = (): void => void (atCounting = called)
  const { calls, times } = await runAtRate(call, {
    rate: 1000,
    runIn: 0.005,
    seconds: 0.01,
    maxInFlight: 5,
    onCounting,
  })
  expect([called, atCounting, calls, times.length]).toEqual([15, 5, 10, 10])
})

test('a failed call ends a run at a rate, which rejects with its error', async () => {
  let called = 0
  const call = async (): Promise<void> => {
    if (++called === 3) throw new Error('the third')
  }
  await expect(runAtRate(call, { rate: 1000, seconds: 10, maxInFlight: 10 })).rejects.toThrow('the third')
  expect(called).toBeLessThan(5_000)
})

test('an aborted signal ends a run at a rate early', async () => {
  const ending = new AbortController()
  const running = runAtRate(async () => {}, {
    rate: 1000,
    seconds: 1000,
    maxInFlight: 10,
    signal: ending.signal,
  })
  await sleep(20)
  ending.abort()
  expect((await running).calls).toBeGreaterThan(0)
})
