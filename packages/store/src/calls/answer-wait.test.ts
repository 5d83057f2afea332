import { platformTime } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { createAnswerWait, type AnswerWait } from './answer-wait.ts'

const never = (): Promise<never> => new Promise(() => {})

let lastAnswer: number

/** Returns the wait for a server with a pool, whose answers to requests for a sign of life these are. */
function waitFor(now: () => Promise<never>): AnswerWait {
  lastAnswer = platformTime.elapsed()
  const rest = { open: 2, opened: 2, idle: 0, limit: 2, waiting: 0, refusal: undefined }
  const server = { name: 'shard 1', connections: () => ({ ...rest, lastAnswer }), now }
  return createAnswerWait(server, (work) => work())
}

/** Answers after so many milliseconds. */
function answered(milliseconds: number): Promise<string> {
  return new Promise((resolve) =>
    platformTime.setTimeout(() => {
      lastAnswer = platformTime.elapsed()
      resolve('an answer')
    }, milliseconds),
  )
}

test('a server that falls silent soon after an answer, while it is asked for a sign of life, is given up', async () => {
  const wait = waitFor(() => {
    // The server answers another call after the request, and then nothing.
    lastAnswer = platformTime.elapsed() + 1
    return never()
  })
  await expect(wait.bounded(never)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', shard: 'shard 1' })
})

test('a server that was not asked for long is not given up by an old request, while a statement takes its time', async () => {
  // The connection of the request is dead.
  const wait = waitFor(never)
  await wait.bounded(() => answered(300))
  await answered(600)
  await answered(600)
  expect(await wait.bounded(() => answered(280))).toBe('an answer')
})
