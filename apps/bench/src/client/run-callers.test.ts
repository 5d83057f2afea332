import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runCallers } from './run-callers.ts'

test('calls of the run-in are made and not counted', async () => {
  let [called, atCounting] = [0, 0]
  const { calls } = await runCallers(
    async () => {
      called++
      await sleep(2)
    },
    // Of several, one may have begun before and make its call after.
    { callers: 1, runIn: 0.02, seconds: 0.02, onCounting: () => (atCounting = called) },
  )
  expect(atCounting).toBeGreaterThan(0)
  expect(calls).toBe(called - atCounting)
})

test('the clock runs until what the calls have left is done', async () => {
  const { seconds } = await runCallers(async () => {}, { callers: 1, seconds: 0.001, ended: () => sleep(60) })
  expect(seconds).toBeGreaterThan(0.055)
})

test('a run-in that uses up all that was prepared is an error', async () => {
  const run = runCallers(async () => {}, { callers: 1, runIn: 10, seconds: 1, most: 3 })
  await expect(run).rejects.toThrow('All of the 3 calls')
})
