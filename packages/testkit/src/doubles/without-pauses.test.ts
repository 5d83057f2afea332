import { expect, test } from 'vitest'
import { withoutPauses } from './without-pauses.ts'

test('pauses are short, and a loop of pauses leaves the processor to others', async () => {
  const from = performance.now()
  let pauses = 0
  for (; performance.now() - from < 100 && pauses < 10_000; pauses++) await withoutPauses.sleep(60_000)
  expect(pauses).toBeGreaterThan(0)
  // Timers may fire up to a millisecond early.
  expect(pauses).toBeLessThan(2 * (performance.now() - from) + 5)
})

test('a pause ends with ABORTED when its signal has fired', async () => {
  await expect(withoutPauses.sleep(1, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
})
