import { LooseleafError, type Time } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { withRetries } from './retries.ts'

const down = (): LooseleafError => new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')

/** Does work that fails with these errors, and then succeeds. `progressAt` has the progress after each failure. */
async function retried(
  errors: readonly Error[],
  progressAt: readonly number[] = [],
): Promise<{
  readonly result: unknown
  readonly pauses: readonly number[]
  readonly told: readonly unknown[]
  readonly calls: number
}> {
  const pauses: number[] = []
  const told: unknown[] = []
  const time: Time = { now: () => 0, sleep: async (milliseconds) => void pauses.push(milliseconds) }
  let calls = 0
  const work = async (): Promise<string> => {
    const error = errors[calls++]
    if (error !== undefined) throw error
    return 'done'
  }
  const result = await withRetries(
    { time } as EngineContext,
    { onRetry: (...retry) => void told.push(retry) },
    work,
    () => progressAt[calls - 1] ?? 0,
  ).catch((error: unknown) => error)
  return { result, pauses, told, calls }
}

test('work is done again after failures of shards, with growing pauses', async () => {
  expect(await retried([down(), down(), down()])).toMatchObject({
    result: 'done',
    pauses: [500, 1_000, 2_000],
    calls: 4,
  })
})

test('every pause before the next try is told to onRetry, with the error before it', async () => {
  const [first, second] = [down(), down()]
  const { told } = await retried([first, second])
  expect(told).toEqual([
    [first, 500],
    [second, 1_000],
  ])
})

test('work rejects with its sixth failure in a row', async () => {
  const errors = Array.from({ length: 6 }, down)
  const { result, calls, pauses } = await retried(errors)
  expect(result).toBe(errors[5])
  expect([calls, pauses.length]).toEqual([6, 5])
  expect(await retried(errors.slice(1))).toMatchObject({ result: 'done', calls: 6 })
})

test.each([
  new LooseleafError('CONFLICT', 'Copies differ.'),
  new LooseleafError('BAD_OPTION', 'The move is impossible.'),
  Object.assign(new Error('A mistake in the program.'), { retryable: true }),
])('work is not done again after an error that stays: %s', async (error) => {
  expect(await retried([error])).toEqual({ result: error, pauses: [], told: [], calls: 1 })
})

test('failures count again from one once the progress exceeds that of every failure before', async () => {
  const errors = Array.from({ length: 10 }, down)
  expect(await retried(errors, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2])).toMatchObject({
    result: 'done',
    pauses: [500, 1_000, 2_000, 4_000, 500, 1_000, 2_000, 4_000, 500, 1_000],
    calls: 11,
  })
  // Another process has put the record back meanwhile.
  expect(await retried(errors, [5, 4, 5, 4, 5, 4])).toMatchObject({ result: errors[5], calls: 6 })
})
