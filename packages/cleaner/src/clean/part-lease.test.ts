import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import type { TaskTable } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { beforeEach, describe, expect, it } from 'vitest'
import { pace } from '../../test/pace.ts'
import { entryOf, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import { claimParts, loadParts, partTask, type LeasedParts, type PartLease } from './part-lease.ts'
import { enterPhase, type Part } from './part.ts'

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
  tasks = context.driver.shards[1]!.tasks
})

interface Claimed extends Omit<LeasedParts, 'leases'> {
  readonly lease: PartLease
}

/** Claims the part of one index. Returns undefined while another worker has it. */
async function claim(owner: string, run = 'run', leaseMs = LEASE_MS): Promise<Claimed | undefined> {
  const options = { owner, leaseMs, checkpointMs: 1_000, onRemoved: () => {}, paceOf: () => pace }
  const { leases, ...parts } = await claimParts(context, new Map([[target, run]]), 1, options, {})
  const [lease] = leases
  return lease && { lease, ...parts }
}

/** Makes a worker keep a lost row until no query needs it. */
async function keepRow({ removals }: Claimed): Promise<void> {
  const row = { key: [Buffer.from('eve'), 1n], entityId: Buffer.alloc(16, 7), version: 1 }
  await tableOn(target, 1).upsert([row])
  const expected = new Map([[target, [{ key: [], shard: 1, identity: 'elsewhere' }]]])
  const entity = { id: row.entityId, version: 2, updated: 0, expected }
  removals.add({ entity, target, shard: 1, row, misplaced: false }, 2)
}

const rowsLeft = (): Promise<number> => tableOn(target, 1).count({ prefix: [] })

const stored = async (): Promise<Part | undefined> =>
  (await loadParts(context, [target.entry.table], 1)).get(target.entry.table)?.part
const ownerNow = async (): Promise<string | undefined> =>
  (await tasks.load(partTask(target.entry.table)))?.owner

describe('a part', () => {
  it('a part is claimed by one worker at a time, and by another after its release or the end of its lease', async () => {
    expect(await stored()).toBeUndefined()
    const first = (await claim('a'))!
    expect(first.lease.isHeld).toBe(true)
    expect(await claim('b')).toBeUndefined()
    await first.release()
    expect(first.lease.isHeld).toBe(false)
    expect(await claim('b')).toBeDefined()
    expect(await claim('a')).toBeUndefined()
    time.leap(LEASE_MS)
    expect(await claim('a')).toBeDefined()
  })

  it('a part whose work pauses for longer than its lease stays with its worker, at its saved place', async () => {
    const first = (await claim('a'))!
    first.lease.part.seen = 7
    for (let paused = 0; paused < 2 * LEASE_MS; paused += LEASE_MS / 2) {
      time.leap(LEASE_MS / 2)
      await first.renew({})
      expect(await claim('b')).toBeUndefined()
    }
    expect(first.lease.isHeld).toBe(true)
    expect(await stored()).toMatchObject({ seen: 0 })
  })

  it('a part resumes at its saved place, in the same run only', async () => {
    const first = (await claim('a'))!
    enterPhase(first.lease.part, 'dangling')
    first.lease.part.seen = 7
    await first.release()
    expect(await stored()).toMatchObject({ run: 'run', phase: 'dangling', seen: 7 })
    const second = (await claim('a'))!
    expect(second.lease.part).toMatchObject({ run: 'run', phase: 'dangling', seen: 7 })
    await second.release()
    expect((await claim('a', 'another'))!.lease.part).toMatchObject({
      run: 'another',
      phase: 'entities',
      seen: 0,
    })
  })
})

describe('a checkpoint', () => {
  it('a checkpoint saves when that is due, and renews the lease', async () => {
    const { lease, checkpoint } = (await claim('a'))!
    const { part } = lease
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

  it('a checkpoint notices that another worker took over, and saves no more', async () => {
    const first = (await claim('a'))!
    time.leap(LEASE_MS)
    const second = (await claim('b'))!
    second.lease.part.seen = 5
    await second.checkpoint({})
    first.lease.part.seen = 9
    expect(first.lease.isHeld).toBe(true)
    await first.checkpoint({})
    expect(first.lease.isHeld).toBe(false)
    await second.release()
    await first.checkpoint({})
    await first.release()
    expect(await stored()).toMatchObject({ seen: 5 })
    expect(await ownerNow()).toBeUndefined()
  })

  it('the pace of the worker is saved with the part', async () => {
    const { checkpoint } = (await claim('a'))!
    time.leap(1_000)
    await checkpoint({})
    expect(await stored()).toMatchObject({ pace })
  })

  it.each(['checkpoint', 'renew', 'release'] as const)('a %s waits for its save', async (call) => {
    const worker = (await claim('a'))!
    const { saveAll } = tasks
    let isSaved = false
    tasks.saveAll = async (...args) => {
      await new Promise((resolve) => setImmediate(resolve))
      isSaved = true
      return saveAll(...args)
    }
    time.leap(LEASE_MS)
    await worker[call]({})
    expect(isSaved).toBe(true)
  })

  it('a checkpoint does not save a released part', async () => {
    const { lease, checkpoint, release } = (await claim('a'))!
    await release()
    lease.part.seen = 9
    time.leap(5_000)
    await checkpoint({})
    await release()
    expect((await stored())?.seen).toBe(0)
  })
})

it('a lease is renewed after a third of it, counted from its last save', async () => {
  const { checkpoint, renew } = (await claim('a'))!
  const { saveAll } = tasks
  let saves = 0
  tasks.saveAll = (...args) => (saves++, saveAll(...args))
  const later = async (milliseconds: number): Promise<number> => {
    time.leap(milliseconds)
    await renew({})
    return saves
  }
  expect(await later(LEASE_MS / 3 - 1)).toBe(0)
  expect(await later(1)).toBe(1)
  expect(await later(LEASE_MS / 3 - 1)).toBe(1)
  await checkpoint({})
  expect(saves).toBe(2)
  expect(await later(1)).toBe(2)
  expect(await later(LEASE_MS / 3 - 1)).toBe(3)
})

describe('while a lost row is kept for queries', () => {
  it('a part with a kept row is saved three times per lease, after the row was deleted', async () => {
    const worker = (await claim('a', 'run', 30_000))!
    await keepRow(worker)
    worker.lease.part.seen = 1
    time.leap(9_999)
    await worker.checkpoint({})
    expect([await rowsLeft(), (await stored())?.seen]).toEqual([1, undefined])
    time.leap(1)
    await worker.checkpoint({})
    expect([await rowsLeft(), (await stored())?.seen]).toEqual([0, 1])
    expect(worker.lease.part.tally.removed).toBe(1)
  })

  it('deleted rows of several checkpoints are counted', async () => {
    const worker = (await claim('a'))!
    for (const count of [1, 2]) {
      await keepRow(worker)
      time.leap(1_000)
      await worker.checkpoint({})
      expect(worker.lease.part.tally.removed).toBe(count)
    }
  })

  it('a checkpoint saves nothing if a kept row cannot be deleted', async () => {
    const worker = (await claim('a'))!
    await keepRow(worker)
    worker.lease.part.seen = 1
    const table = tableOn(target, 1)
    table.remove = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
    time.leap(1_000)
    await expect(worker.checkpoint({})).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    expect(await stored()).toBeUndefined()
  })

  it('the lease is renewed while a checkpoint waits for kept rows', async () => {
    // Lost rows are kept for 11 ms here, and leases are renewed every 4 ms.
    const worker = (await claim('a', 'run', 12))!
    await keepRow(worker)
    const { saveAll } = tasks
    let saves = 0
    tasks.saveAll = (...args) => (saves++, saveAll(...args))
    await worker.settle({})
    expect([saves, await rowsLeft()]).toEqual([2, 0])
  })

  it('a checkpoint with as many kept rows as fit into memory does not wait until it is due', async () => {
    const worker = (await claim('a'))!
    const row = { key: [Buffer.from('eve'), 1n], entityId: Buffer.alloc(16, 7), version: 1 }
    const entity = { id: row.entityId, version: 2, updated: 0, expected: new Map() }
    for (let count = 0; count < 20_000; count++)
      worker.removals.add({ entity, target, shard: 1, row, misplaced: false }, 2)
    await worker.checkpoint({})
    expect([worker.removals.isEmpty, (await stored())?.seen]).toEqual([true, 0])
  })

  it('a part that is released with a kept row is saved as of before that row was found', async () => {
    const worker = (await claim('a'))!
    worker.lease.part.seen = 1
    time.leap(1_000)
    await worker.checkpoint({})
    worker.lease.part.seen = 2
    await keepRow(worker)
    await worker.release()
    expect([await rowsLeft(), (await stored())?.seen]).toEqual([1, 1])
  })
})

describe('parts of several indexes', () => {
  it('parts of several indexes are claimed together, except those of other workers, and saved separately', async () => {
    const store = await openStore({ time })
    const { context: storeContext } = store
    const targets = ['by_user', 'by_tag'].map((name) => indexTarget(storeContext, entryOf(store, name)))
    const [byUser, byTag] = targets as [IndexTarget, IndexTarget]
    const claimAll = (owner: string, indexes: readonly IndexTarget[]): Promise<LeasedParts> =>
      claimParts(
        storeContext,
        new Map(indexes.map((index) => [index, 'run'])),
        0,
        { owner, leaseMs: 60_000, checkpointMs: 0, onRemoved: () => {}, paceOf: () => pace },
        {},
      )
    const first = await claimAll('a', [byUser])
    const second = await claimAll('b', targets)
    expect(second.leases.map((lease) => lease.target)).toEqual([byTag])
    first.leases[0]!.part.seen = 1
    second.leases[0]!.part.seen = 2
    await first.release()
    await second.checkpoint({})
    const parts = await loadParts(storeContext, [byUser.entry.table, byTag.entry.table], 0)
    expect([...parts].map(([table, { part }]) => [table, part.seen])).toEqual([
      [byUser.entry.table, 1],
      [byTag.entry.table, 2],
    ])
    const third = await claimAll('c', targets)
    expect(third.leases.map((lease) => [lease.target, lease.part.seen])).toEqual([[byUser, 1]])
  })
})
