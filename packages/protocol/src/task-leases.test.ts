import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError, type Time } from '@looseleaf/core'
import type { TaskTable } from '@looseleaf/core/internal'
import { beforeEach, expect, test } from 'vitest'
import { editTask, editTasks, underLease, untilFree } from './task-leases.ts'

const MINUTE = 60_000
const OWNER = { owner: 'a' }

let now: number
let tasks: TaskTable

beforeEach(() => {
  now = 1_000_000
  tasks = createReferenceDriver({ shards: 1, now: () => now * 1_000 }).shards[0]!.tasks
})

const time: Time = {
  now: () => now,
  async sleep(ms) {
    now += ms
  },
}

test('an edit replaces the text, and ends its lease', async () => {
  expect(await editTask(tasks, 'one', (text) => `${text}!`, OWNER)).toBe(true)
  expect(await editTask(tasks, 'one', (text) => `${text}!`, { owner: 'b' })).toBe(true)
  expect(await tasks.load('one')).toEqual({ progress: '!!', owner: undefined })
})

test('an edit of a task that another worker holds changes nothing', async () => {
  await tasks.claim('one', 'other', MINUTE)
  expect(await editTask(tasks, 'one', () => expect.unreachable(), OWNER)).toBe(false)
  expect(await tasks.load('one')).toEqual({ progress: '', owner: 'other' })
})

test('an edit that takes longer than its lease is not saved once another worker has the task', async () => {
  let claimed: Promise<unknown> = Promise.resolve()
  const slow = (): string => {
    now += 5_001
    claimed = tasks.claim('one', 'other', MINUTE)
    return 'late'
  }
  expect(await editTask(tasks, 'one', slow, OWNER)).toBe(false)
  expect(await claimed).toEqual({ progress: '', owner: 'other' })
  expect(await tasks.load('one')).toEqual({ progress: '', owner: 'other' })
})

test('an edit that throws ends its lease and changes nothing, also among several tasks', async () => {
  await tasks.claim('one', 'a', MINUTE)
  await tasks.save('one', 'a', 'before', 0)
  const refuse = (): never => {
    throw new Error('refused')
  }
  await expect(editTask(tasks, 'one', refuse, OWNER)).rejects.toThrow('refused')
  expect(await tasks.load('one')).toEqual({ progress: 'before', owner: undefined })
  await expect(editTasks(tasks, ['one', 'two'], refuse, OWNER)).rejects.toThrow('refused')
  expect(await tasks.load('one')).toEqual({ progress: 'before', owner: undefined })
  expect(await tasks.load('two')).toEqual({ progress: '', owner: undefined })
})

test('an edit of several tasks skips those that another worker holds, and returns the others', async () => {
  await tasks.claim('two', 'other', MINUTE)
  const edited = await editTasks(tasks, ['one', 'two', 'three'], (text, task) => `${text}${task}`, OWNER)
  expect([...edited].toSorted()).toEqual(['one', 'three'])
  expect((await tasks.load('one'))?.progress).toBe('one')
  expect(await tasks.load('two')).toEqual({ progress: '', owner: 'other' })
  expect(await editTasks(tasks, [], () => expect.unreachable(), OWNER)).toEqual(new Set())
})

test('attempts are repeated until a task is free, or the patience ends', async () => {
  await tasks.claim('one', 'other', 2_000)
  let attempts = 0
  const attempt = (): Promise<boolean> => (attempts++, editTask(tasks, 'one', () => 'mine', OWNER))
  const busy = (): LooseleafError => new LooseleafError('SHARD_BUSY', 'The task is held.')
  const patience = { time, everyMs: 100, forMs: 1_000, busy, signal: undefined }
  await expect(untilFree(attempt, patience)).rejects.toMatchObject({ code: 'SHARD_BUSY' })
  expect([attempts, now]).toEqual([11, 1_001_000])
  await untilFree(attempt, { time, everyMs: 100, signal: undefined })
  expect(now).toBe(1_002_000)
  expect((await tasks.load('one'))?.progress).toBe('mine')
})

test('a lease ends with its work, and an error of the work counts more than one of the save', async () => {
  await tasks.claim('one', 'a', MINUTE)
  const held = { tasks, task: 'one', owner: 'a' }
  let text = 'begun'
  const work = async (): Promise<number> => {
    text = 'done'
    return 1
  }
  expect(await underLease(held, work, () => text)).toBe(1)
  expect(await tasks.load('one')).toEqual({ progress: 'done', owner: undefined })
  const broken: TaskTable = { ...tasks, save: () => Promise.reject(new Error('lost')) }
  const failing = (): Promise<never> => Promise.reject(new Error('failed'))
  await expect(underLease({ ...held, tasks: broken }, failing, () => text)).rejects.toThrow('failed')
})

/** Tasks whose saves take a turn of the event loop. */
function slowSaves(): TaskTable {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  return {
    ...tasks,
    save: async (...args) => {
      await turn()
      return tasks.save(...args)
    },
  }
}

test('a lease has ended when its work or its failed edit ends', async () => {
  const held = { tasks: slowSaves(), task: 'one', owner: 'a' }
  await tasks.claim('one', 'a', MINUTE)
  await underLease(
    held,
    async () => 1,
    () => 'done',
  )
  expect(await tasks.load('one')).toEqual({ progress: 'done', owner: undefined })
  const refuse = (): never => {
    throw new Error('refused')
  }
  await expect(editTask(slowSaves(), 'one', refuse, OWNER)).rejects.toThrow('refused')
  expect(await tasks.load('one')).toEqual({ progress: 'done', owner: undefined })
})

test('the error of an edit counts more than one of the end of its lease', async () => {
  const broken: TaskTable = { ...tasks, save: () => Promise.reject(new Error('lost')) }
  const refuse = (): never => {
    throw new Error('refused')
  }
  await expect(editTask(broken, 'one', refuse, OWNER)).rejects.toThrow('refused')
})
