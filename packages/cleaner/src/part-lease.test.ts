import { createReferenceDriver } from '@looseleaf-tooling/reference-driver'
import type { TaskTable } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { beforeEach, describe, expect, it } from 'vitest'
import { entryOf, openStore } from '../test/stores.ts'
import { leapingTime, type LeapingTime } from '../test/times.ts'
import { indexTarget, type IndexTarget } from './index-target.ts'
import { claimPart, loadPart, partTask, type PartLease } from './part-lease.ts'
import { enterStage, type Part } from './part.ts'

const LEASE_MS = 3_000

let context: EngineContext
let target: IndexTarget
let time: LeapingTime
let tasks: TaskTable

beforeEach(async () => {
  time = leapingTime()
  const driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  const store = await openStore({ driver, time })
  context = store.context
  target = indexTarget(context, entryOf(store, 'by_user'))
  tasks = driver.shards[1]!.tasks
})

async function claim(owner: string, run = 'run'): Promise<PartLease | undefined> {
  const options = { owner, leaseMs: LEASE_MS, checkpointMs: 1_000, onRemoved: () => {} }
  return claimPart(context, target, 1, run, options, {})
}

const stored = (): Promise<Part | undefined> => loadPart(context, target.entry.table, 1)
const ownerNow = async (): Promise<string | undefined> =>
  (await tasks.load(partTask(target.entry.table)))?.owner

describe('a part', () => {
  it('is taken by one worker at a time, and by another one when it is given up or the lease has run out', async () => {
    expect(await stored()).toBeUndefined()
    const first = (await claim('a'))!
    expect(first.isHeld).toBe(true)
    expect(await claim('b')).toBeUndefined()
    await first.release()
    expect(first.isHeld).toBe(false)
    expect(await claim('b')).toBeDefined()
    expect(await claim('a')).toBeUndefined()
    time.leap(LEASE_MS)
    expect(await claim('a')).toBeDefined()
  })

  it('goes on where it was left, in the same run alone', async () => {
    const first = (await claim('a'))!
    enterStage(first.part, 'dangling')
    first.part.seen = 7
    await first.release()
    expect(await stored()).toMatchObject({ run: 'run', stage: 'dangling', seen: 7 })
    const second = (await claim('a'))!
    expect(second.part).toMatchObject({ run: 'run', stage: 'dangling', seen: 7 })
    await second.release()
    expect((await claim('a', 'another'))!.part).toMatchObject({ run: 'another', stage: 'entities', seen: 0 })
  })
})

describe('a checkpoint', () => {
  it('saves when it is due, and prolongs the lease', async () => {
    const { part, checkpoint } = (await claim('a'))!
    part.seen = 1
    time.leap(999)
    await checkpoint({})
    expect((await stored())?.seen).toBeUndefined()
    time.leap(1)
    await checkpoint({})
    expect((await stored())?.seen).toBe(1)
    part.seen = 2
    time.leap(999)
    await checkpoint({})
    expect((await stored())?.seen).toBe(1)
    time.leap(LEASE_MS - 1_000)
    expect(await ownerNow()).toBe('a')
    time.leap(1)
    expect(await ownerNow()).toBeUndefined()
  })

  it('tells that another worker has taken over, and nothing is saved from then on', async () => {
    const first = (await claim('a'))!
    time.leap(LEASE_MS)
    const second = (await claim('b'))!
    second.part.seen = 5
    await second.checkpoint({})
    first.part.seen = 9
    expect(first.isHeld).toBe(true)
    await first.checkpoint({})
    expect(first.isHeld).toBe(false)
    await second.release()
    await first.checkpoint({})
    await first.release()
    expect(await stored()).toMatchObject({ seen: 5 })
    expect(await ownerNow()).toBeUndefined()
  })

  it('is not made of a part that was given up', async () => {
    const lease = (await claim('a'))!
    await lease.release()
    lease.part.seen = 9
    time.leap(5_000)
    await lease.checkpoint({})
    await lease.release()
    expect((await stored())?.seen).toBe(0)
  })
})
