import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, describe, expect, it } from 'vitest'
import { byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { createPass } from '../pass/pass.ts'
import { createTail, TAIL_TASK, type Tail } from '../tail/tail.ts'
import { readCleanerReport } from './cleaner-report.ts'
import type { ShardReport } from './shard-report.ts'

const LEASE_MS = 30_000

let driver: ReferenceDriver
let time: LeapingTime
let plan: FaultPlan
let store: DataStore

beforeEach(async () => {
  time = leapingTime()
  plan = () => undefined
  driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  const faulty = faultyDriver(driver, (call) => plan(call))
  store = await openStore({ driver: faulty, time, indexes: [byUser], onIndexFailure: 'defer' })
})

const report = async (shard = 1): Promise<ShardReport> => (await readCleanerReport(store)).shards[shard]!

const follow = (rowsPerRound = 1_000): Tail =>
  createTail(store.context, 1, {
    owner: 'me',
    leaseMs: LEASE_MS,
    rowsPerRound,
    lookBackMs: 3_600_000,
    maxLagMs: 86_400_000,
  })

const round = (tail: Tail): Promise<unknown> => tail.round(createPass(store.context, { pageSize: 1 }), [])

/** Commits entities on shard 1, a second apart. */
async function commit(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    time.leap(1_000)
    const id = Buffer.alloc(16)
    id.writeUIntBE(Math.floor(time.now()), 8, 6)
    const { epoch } = driver.shards[1]!.contents()!
    await driver.shards[1]!.entities.insert([{ id, version: time.now() * 1_000, body: null }], { epoch })
  }
}

describe('the report of a shard', () => {
  it('a cleaner that ended before its first round leaves no last round', async () => {
    const tail = follow()
    plan = ({ operation }) =>
      operation === 'pageByUpdated'
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')
            },
          }
        : undefined
    await commit(1)
    await expect(round(tail)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    // After this time the tail saves its window again.
    time.leap(LEASE_MS / 2)
    await expect(round(tail)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(await report()).toMatchObject({ isFollowed: true, lastRoundAt: undefined, lagMs: undefined })
    await tail.release()
    expect(await report()).toMatchObject({ isFollowed: false, lastRoundAt: undefined, lagMs: undefined })
    plan = () => undefined
    const next = follow()
    await round(next)
    await next.release()
    expect(await report()).toMatchObject({ lastRoundAt: new Date(time.now()), lagMs: 0 })
  })

  it('the report has no worker before the first cleaner', async () => {
    expect(await report()).toMatchObject({
      shard: 1,
      name: driver.shards[1]!.name,
      error: undefined,
      isFollowed: false,
      worker: undefined,
      lastRoundAt: undefined,
      sinceLastRoundMs: undefined,
      lagMs: undefined,
      isFallingBehind: false,
      pending: { rows: 0, more: false, oldestAt: undefined },
    })
  })

  it('the report has the last worker and the time of its last round, by the clock of the shard', async () => {
    const tail = follow()
    await round(tail)
    const lastRoundAt = new Date(time.now())
    time.leap(LEASE_MS / 2)
    await round(tail)
    expect(await report()).toMatchObject({
      isFollowed: true,
      lastRoundAt,
      sinceLastRoundMs: LEASE_MS / 2,
      lagMs: LEASE_MS / 2,
    })
    expect((await report()).worker).toContain(`:${process.pid}`)
    await tail.release()
    expect(await report()).toMatchObject({ isFollowed: false, sinceLastRoundMs: 0, lagMs: 0 })
  })

  it('the age of the last round is unknown if the clock of the shard was ahead then', async () => {
    const tail = follow()
    time.leap(7_200_000)
    await round(tail)
    time.leap(LEASE_MS / 2)
    await round(tail)
    time.leap(-7_200_000)
    expect(await report()).toMatchObject({
      isFollowed: false,
      sinceLastRoundMs: undefined,
      lagMs: undefined,
      lastRoundAt: expect.any(Date) as Date,
    })
  })

  it('a shard is not followed after the lease has expired', async () => {
    const tail = follow()
    await round(tail)
    await tail.release()
    time.leap(60_000)
    expect(await report()).toMatchObject({ isFollowed: false, sinceLastRoundMs: 60_000 })
  })

  it('the report has the lag, and tells whether it grows', async () => {
    const tail = follow(2)
    await round(tail)
    const before = time.now()
    await commit(20)
    await round(tail)
    time.leap(LEASE_MS / 2)
    await round(tail)
    const { lagMs, isFallingBehind } = await report()
    expect(isFallingBehind).toBe(true)
    expect(lagMs).toBeGreaterThanOrEqual(time.now() - before)
    // Every round reads a part of the gap.
    time.leap(LEASE_MS / 2)
    await round(tail)
    expect(await report()).toMatchObject({ isFallingBehind: false })
    expect((await report()).lagMs).toBeGreaterThan(LEASE_MS)
  })

  it('the report has the error of a shard, and the other shards', async () => {
    const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    plan = ({ shard }) => (shard === 1 ? { before: () => Promise.reject(away) } : undefined)
    expect(await report()).toMatchObject({ error: away, isFollowed: false, pending: undefined })
    expect(await report(0)).toMatchObject({ error: undefined })
  })

  it('the report has the time of the oldest pending row', async () => {
    const at = Math.floor(time.now())
    const { epoch } = driver.shards[1]!.contents()!
    for (const [i, age] of [1_000, 5_000, 3_000].entries()) {
      const id = Buffer.alloc(16, i + 1)
      const row = { id, version: (at - age) * 1_000, body: Buffer.from('any'), deferred: ['index_by_user'] }
      await driver.shards[1]!.entities.insert([row], { epoch })
    }
    expect((await report()).pending).toEqual({
      rows: 3,
      more: false,
      oldestAt: new Date(at - 5_000),
    })
  })

  it.each([
    [500, 500, false],
    [501, 500, true],
    [600, 500, true],
  ])(
    'for %d pending rows the report has %d, and tells whether there are more (%s)',
    async (count, rows, more) => {
      const { epoch } = driver.shards[1]!.contents()!
      const deferred = Array.from({ length: count }, (_, i) => `table_${i}`)
      const row = { id: Buffer.alloc(16, 1), version: time.now() * 1_000, body: Buffer.from('any'), deferred }
      await driver.shards[1]!.entities.insert([row], { epoch })
      expect((await report()).pending).toMatchObject({ rows, more })
    },
  )

  it('the report ignores a progress that it cannot read', async () => {
    const { tasks } = driver.shards[1]!
    await tasks.claim(TAIL_TASK, 'x', 5_000)
    await tasks.save(TAIL_TASK, 'x', '{"seenUntil":"no"}', 5_000)
    expect(await report()).toMatchObject({ isFollowed: true, worker: undefined, lastRoundAt: undefined })
  })
})
