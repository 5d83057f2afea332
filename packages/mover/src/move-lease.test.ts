import { LooseleafError } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { processName } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { claimMove, isLeaseLost, type MoveLease } from './move-lease.ts'
import { freshRecord, type MoveRecord } from './move-record.ts'

const MOVE: LayoutMove = { id: 7, from: 0, to: 1, buckets: '3-5', phase: 'both' }

/** The task of a move, by a clock that only sleeps, claims and leaps advance. */
interface Claimed {
  readonly lease: MoveLease | undefined
  /** Lengths of the sleeps, and lengths of the leases that were saved. */
  readonly sleeps: number[]
  readonly saves: number[]
  leap(milliseconds: number): void
  /** The next saves answer this. */
  answer: boolean | Error
}

async function claimed(progress: string | undefined, leaseMs = 6_000): Promise<Claimed> {
  let now = 10_000
  const task: Pick<Claimed, 'sleeps' | 'saves' | 'leap' | 'answer'> = {
    sleeps: [],
    saves: [],
    leap: (milliseconds) => void (now += milliseconds),
    answer: true,
  }
  const tasks = {
    async claim() {
      now += 400
      return progress === undefined ? undefined : { progress, owner: undefined }
    },
    async save(_: string, __: string, ___: string, length: number) {
      task.saves.push(length)
      if (typeof task.answer === 'boolean') return task.answer
      throw task.answer
    },
  }
  const context = {
    driver: { shards: [{}, { tasks }] },
    time: {
      now: () => now,
      async sleep(milliseconds: number) {
        task.sleeps.push(milliseconds)
        now += milliseconds
      },
    },
  } as unknown as EngineContext
  const lease = await claimMove(context, MOVE, { owner: 'mover', leaseMs, checkpointMs: 1_000 })
  return Object.assign(task, { lease })
}

const savedRecord = (parts: Partial<MoveRecord>): string =>
  JSON.stringify({ ...freshRecord(MOVE), step: 'sealing', waitsFor: 'consumers', ...parts })

test('a move that another process has is not claimed', async () => {
  expect((await claimed(undefined)).lease).toBeUndefined()
})

test.each([
  ['of the same buckets', {}, 'sealing'],
  ['of these buckets and others', { buckets: '0-9' }, 'sealing'],
  ['of some of the buckets', { buckets: '3-4' }, 'copying'],
  ['of another source', { from: 2 }, 'copying'],
])(
  'a mover takes the record of a move with its source and all of its buckets: one %s',
  async (_, parts, step) => {
    const { lease } = await claimed(savedRecord({ ...parts, worker: 'another', since: 1 }))
    expect(lease!.record).toMatchObject({ step, worker: processName, since: 10_400, waitsFor: '' })
  },
)

test('a record is saved once the last save, or the beginning of the claim, is old enough', async () => {
  const { lease, saves, leap } = await claimed('')
  leap(599)
  await lease!.saveDue()
  expect(saves).toEqual([])
  leap(1)
  await lease!.saveDue()
  expect(saves).toEqual([6_000])
  leap(999)
  await lease!.saveDue()
  expect(saves).toHaveLength(1)
  leap(1)
  await lease!.saveDue()
  expect(saves).toHaveLength(2)
})

test.each([
  [6_000, 5_000, [2_000, 2_000, 1_000]],
  [1_500, 2_500, [1_000, 1_000, 500]],
  [6_000, 0, []],
])(
  'a wait renews a lease of %i milliseconds after each third of it, or each second: for %i milliseconds',
  async (leaseMs, length, pauses) => {
    const { lease, sleeps, saves } = await claimed('', leaseMs)
    await lease!.sleep(length)
    expect(sleeps).toEqual(pauses)
    expect(saves).toEqual(pauses.map(() => leaseMs))
  },
)

test('a save tells that another process has the move, and other errors stay as they are', async () => {
  const task = await claimed('')
  task.answer = false
  const lost = await task.lease!.save().catch((error: unknown) => error)
  expect(lost).toMatchObject({ code: 'CONFLICT', message: 'Move 7: another process has taken it over.' })
  expect(isLeaseLost(lost)).toBe(true)
  await expect(task.lease!.sleep(1)).rejects.toMatchObject({ code: 'CONFLICT' })
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
  task.answer = down
  await expect(task.lease!.save()).rejects.toBe(down)
  expect([down, new Error('none'), undefined].map(isLeaseLost)).toEqual([false, false, false])
})

test.each([
  [true, true],
  [false, false],
  [new Error('The server is down.'), true],
])(
  'the end of a lease never rejects, and tells whether another process has the move: %s',
  async (answer, isHeld) => {
    const task = await claimed('')
    task.answer = answer
    expect(await task.lease!.release()).toBe(isHeld)
    expect(task.saves).toEqual([0])
  },
)
