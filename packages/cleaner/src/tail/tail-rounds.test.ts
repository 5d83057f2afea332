import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultyCall } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { addRow, byTag, byUser, entryOf, openStore, rowFor, withDeleteDelay } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { windowFromText } from './tail-window.ts'
import { createTail, type Tail, type TailOptions } from './tail.ts'

const settings: TailOptions = {
  owner: 'first',
  leaseMs: 30_000,
  rowsPerRound: 1_000,
  lookBackMs: 60_000,
  maxLagMs: 86_400_000,
}

let time: LeapingTime
let reference: ReferenceDriver
let store: DataStore
let targets: IndexTarget[]
let calls: FaultyCall[]

beforeEach(async () => {
  time = leapingTime()
  calls = []
  reference = createReferenceDriver({ shards: 1, now: () => time.now() * 1000 })
  const driver = faultyDriver(reference, (call) => {
    calls.push(call)
    return undefined
  })
  store = await openStore({ driver, time, indexes: [byUser, byTag] })
  targets = ['by_user', 'by_tag'].map((name) => indexTarget(store.context, entryOf(store, name)))
})

const tailOf = (options: Partial<TailOptions> = {}): Tail =>
  createTail(store.context, 0, { ...settings, ...options })

async function roundOf(tail: Tail, indexes = targets, options = {}) {
  calls.length = 0
  const pass = createPass(store.context, { pageSize: 4, ...options })
  const looked = await tail.round(pass, indexes)
  return { looked, ...pass.tally }
}

/** Returns the arguments of each call of this operation. */
const sent = (operation: string): readonly (readonly unknown[])[] =>
  calls.filter((call) => call.operation === operation).map(({ args }) => args)

describe('the lease', () => {
  it('the lease is claimed by the first round, and renewed by rounds after a third of it', async () => {
    const tail = tailOf()
    expect(tail.isMine).toBe(false)
    await roundOf(tail)
    expect(sent('claim')).toMatchObject([['clean-tail', 'first', 30_000, {}]])
    expect(sent('save')).toEqual([])
    for (let third = 0; third < 3; third++) {
      time.leap(10_000)
      await roundOf(tail)
      expect(sent('save')).toEqual([])
      time.leap(1)
      const before = time.now() * 1000
      await roundOf(tail)
      const [[task, owner, text, leaseMs] = []] = sent('save')
      expect([task, owner, leaseMs]).toEqual(['clean-tail', 'first', 30_000])
      expect(windowFromText(String(text))!.lookedAt).toBe(before - 1_000)
    }
    expect(sent('claim')).toEqual([])
    expect(tail.isMine).toBe(true)
  })

  it('an expired lease is claimed again, and no work is done without', async () => {
    const [tail, other] = [tailOf(), tailOf({ owner: 'second' })]
    await roundOf(tail)
    time.leap(30_001)
    expect(await roundOf(other)).toMatchObject({ looked: 0 })
    expect(await roundOf(tail)).toMatchObject({ looked: undefined })
    expect([tail.isMine, other.isMine]).toEqual([false, true])
    expect(await roundOf(tail)).toMatchObject({ looked: undefined })
    expect(sent('claim')).toHaveLength(1)
    await other.release()
    expect(await roundOf(tail)).toMatchObject({ looked: 0 })
  })

  it('the lease is released once, with the progress', async () => {
    const tail = tailOf()
    await tail.release()
    expect(sent('save')).toEqual([])
    await roundOf(tail)
    const reached = time.now() * 1000
    calls.length = 0
    await Promise.all([tail.release(), tail.release()])
    expect(tail.isMine).toBe(false)
    const [[, , text, leaseMs] = []] = sent('save')
    expect(leaseMs).toBe(0)
    expect(windowFromText(String(text))).toEqual({
      seenUntil: reached + 1,
      lookedAt: reached,
      gap: undefined,
    })
    expect(sent('save')).toHaveLength(1)
  })
})

describe('a round', () => {
  it('a round resumes where another process released the shard, even long ago', async () => {
    const tail = tailOf()
    await roundOf(tail)
    await tail.release()
    await store.put({ user_id: 'ada', published: 1 })
    time.leap(10 * 60_000)
    expect(await roundOf(tailOf({ owner: 'second' }))).toMatchObject({ looked: 1 })
  })

  it('a round reads no entity twice whose rows are right', async () => {
    await store.put({ user_id: 'ada', published: 1, tags: ['x'] })
    expect(await roundOf(tailOf())).toMatchObject({ looked: 1, entities: 1, rows: 2 })
    expect(sent('readBounded')).toEqual([])
  })

  it('the first round begins `lookBackMs` ago', async () => {
    await store.put({ user_id: 'ada', published: 1 })
    time.leap(60_001)
    await store.put({ user_id: 'ada', published: 2 })
    expect(await roundOf(tailOf())).toMatchObject({ looked: 1 })
  })

  it('the first round looks back from the current time even if the floor is two hours ahead', async () => {
    await store.put({ user_id: 'ada', published: 1 })
    time.leap(7_200_000)
    for (const { entities } of store.context.driver.shards) await entities.raiseFloor()
    time.leap(-7_190_000)
    expect(await roundOf(tailOf())).toMatchObject({ looked: 1 })
  })

  it('a round leaves updates that it has no time for, and reports their age', async () => {
    for (let published = 0; published < 12; published++) {
      await store.put({ user_id: 'ada', published })
      time.leap(1_000)
    }
    const tail = tailOf({ rowsPerRound: 4 })
    expect(tail.lagMs).toBe(0)
    expect(await roundOf(tail)).toMatchObject({ looked: 4 })
    // The lag reaches from the floor back to the start of the first round.
    expect(tail.lagMs).toBe(60_000)
    await roundOf(tail)
    await roundOf(tail)
    await roundOf(tail)
    expect(tail.lagMs).toBe(0)
  })
})

describe('an entity with a row too young to be judged', () => {
  const eve = { user_id: 'eve', published: 1 }

  it('entities are revisited in the order of their times, at most 100 per round', async () => {
    for (let published = 0; published < 101; published++) {
      const { id, version } = await store.put({ user_id: 'ada', published })
      await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + 1_000))
    }
    const tail = tailOf()
    expect(await roundOf(tail)).toMatchObject({ looked: 101, postponed: 101 })
    time.leap(20_000)
    expect(await roundOf(tail)).toMatchObject({ looked: 0 })
    time.leap(39_999)
    expect(await roundOf(tail)).toMatchObject({ looked: 0 })
    time.leap(1)
    expect(await roundOf(tail)).toMatchObject({ looked: 100 })
    expect(await roundOf(tail)).toMatchObject({ looked: 1 })
    expect(await roundOf(tail)).toMatchObject({ looked: 0 })
  })

  it('an entity is revisited later if a failover may undo the version that was read', async () => {
    const { id, version } = await store.put({ user_id: 'ada', published: 1 })
    await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + 1_000))
    const context = withDeleteDelay(store.context, 100_000)
    const tail = createTail(context, 0, settings)
    const round = async (): Promise<number | undefined> => {
      const pass = createPass(context)
      await tail.round(pass, targets)
      return pass.tally.entities
    }
    expect(await round()).toBe(1)
    time.leap(99_999)
    expect(await round()).toBe(0)
    time.leap(1)
    expect(await round()).toBe(1)
  })
})
