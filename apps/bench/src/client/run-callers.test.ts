import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runCallers } from './run-callers.ts'

test('callers make calls during the run-in that are not counted', async () => {
  let [called, atCounting] = [0, 0]
  const { calls } = await runCallers(
    async () => {
      called++
      await sleep(2)
    },
    // With several callers, an uncounted call could begin before the counting and be made after it.
    { callers: 1, runIn: 0.02, seconds: 0.02, onCounting: () => (atCounting = called) },
  )
  expect(atCounting).toBeGreaterThan(0)
  expect(calls).toBe(called - atCounting)
})

test('the clock runs until the work that calls left behind is done', async () => {
  const catchUp = (): Promise<void> => sleep(60)
  const { seconds } = await runCallers(async () => {}, { callers: 1, seconds: 0.001, catchUp })
  expect(seconds).toBeGreaterThan(0.055)
})

test('a run-in that uses up all prepared calls is an error', async () => {
  const run = runCallers(async () => {}, { callers: 1, runIn: 10, seconds: 1, maxCalls: 3 })
  await expect(run).rejects.toThrow('used up all of the 3 prepared calls')
})
