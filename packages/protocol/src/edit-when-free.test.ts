import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { editWhenFree, whenFree } from './edit-when-free.ts'

function store() {
  const time = leapingTime()
  const driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1_000 })
  let ids = 0
  const context = { driver, time, random: { uuid: () => `owner ${ids++}` } } as unknown as EngineContext
  return { context, time, tasks: driver.shards[1]!.tasks }
}

test('an edit waits until no other process holds the task', async () => {
  const { context, time, tasks } = store()
  await tasks.claim('one', 'other', 9_950)
  await editWhenFree(context, 1, 'one', (text) => `${text}!`, {})
  expect(time.slept).toBe(10_000)
  expect(await tasks.load('one')).toEqual({ progress: '!', owner: undefined })
})

test('an edit of a task that others hold for ten seconds is refused', async () => {
  const { context, time, tasks } = store()
  await tasks.claim('one', 'other', 60_000)
  await expect(editWhenFree(context, 1, 'one', () => expect.unreachable(), {})).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: 'Other processes have held the task one for 10 seconds; try again later.',
    shard: 'reference shard 1',
  })
  expect(time.slept).toBe(10_000)
})

test('a signal ends the wait', async () => {
  const { context } = store()
  const controller = new AbortController()
  let attempts = 0
  const attempt = async (): Promise<boolean> => {
    if (++attempts === 2) controller.abort()
    return false
  }
  const { signal } = controller
  await expect(whenFree(context, 1, 'one', attempt, { signal })).rejects.toMatchObject({ code: 'ABORTED' })
  expect(attempts).toBe(2)
})
