import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runAtRate } from './run-at-rate.ts'

test('a call that has to wait for others has waited from when it was due', async () => {
  const { calls, times, due } = await runAtRate(() => sleep(30), { rate: 1000, seconds: 0.004, most: 1 })
  expect(calls).toBe(4)
  expect(due).toHaveLength(4)
  // The last one was due after 3 ms, and its turn came when the three before it had taken 30 each.
  expect(times.at(-1)).toBeGreaterThan(80)
})

test('no call begins before it is due', async () => {
  const { times } = await runAtRate(async () => {}, { rate: 700, seconds: 0.2, most: 10 })
  expect(times).toHaveLength(140)
  expect(Math.min(...times)).toBeGreaterThan(0)
})

test('calls of the run-in are made and not counted', async () => {
  let [called, atCounting] = [0, 0]
  const call = async (): Promise<void> => void called++
  const onCounting = (): void => void (atCounting = called)
  const { calls, times } = await runAtRate(call, {
    rate: 1000,
    runIn: 0.005,
    seconds: 0.01,
    most: 5,
    onCounting,
  })
  expect([called, atCounting, calls, times.length]).toEqual([15, 5, 10, 10])
})

test('a call that fails ends the run, with its error', async () => {
  let called = 0
  const call = async (): Promise<void> => {
    if (++called === 3) throw new Error('the third')
  }
  await expect(runAtRate(call, { rate: 1000, seconds: 10, most: 10 })).rejects.toThrow('the third')
  expect(called).toBeLessThan(5_000)
})

test('a run ends when it is told to', async () => {
  const ending = new AbortController()
  const running = runAtRate(async () => {}, { rate: 1000, seconds: 1000, most: 10, signal: ending.signal })
  await sleep(20)
  ending.abort()
  expect((await running).calls).toBeGreaterThan(0)
})
