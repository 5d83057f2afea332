import { platformTime } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { createAnswerWait } from './answer-wait.ts'

const never = (): Promise<never> => new Promise(() => {})

test('a server that falls silent soon after an answer, while it is asked for a sign of life, is given up', async () => {
  let lastAnswer = platformTime.elapsed()
  const server = {
    name: 'shard 1',
    connections: () => ({
      open: 2,
      opened: 2,
      idle: 0,
      limit: 2,
      waiting: 0,
      refusal: undefined,
      lastAnswer,
    }),
    // The server answers another call after the request, and then nothing.
    now() {
      lastAnswer = platformTime.elapsed() + 1
      return never()
    },
  }
  const wait = createAnswerWait(server, (work) => work())
  await expect(wait.bounded(never)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', shard: 'shard 1' })
})

test('a server that was not asked for long is not given up by an old request, while a statement takes its time', async () => {
  let lastAnswer = platformTime.elapsed()
  const server = {
    name: 'shard 1',
    connections: () => ({
      open: 2,
      opened: 2,
      idle: 0,
      limit: 2,
      waiting: 0,
      refusal: undefined,
      lastAnswer,
    }),
    // The connection of the request is dead.
    now: never,
  }
  const wait = createAnswerWait(server, (work) => work())
  const answered = (milliseconds: number): Promise<string> =>
    new Promise((resolve) =>
      platformTime.setTimeout(() => {
        lastAnswer = platformTime.elapsed()
        resolve('an answer')
      }, milliseconds),
    )
  await wait.bounded(() => answered(300))
  await answered(600)
  await answered(600)
  expect(await wait.bounded(() => answered(280))).toBe('an answer')
})
