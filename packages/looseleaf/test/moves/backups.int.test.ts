import { isLooseleafError, parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { sweep } from '@looseleaf/cleaner'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { emptySources, moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { backUp, restore, type DatabaseBackup } from './database-backups.ts'
import { checkIndexes, checkQueries, indexes, itemOf, rowsAt, SOME_BUCKETS } from './stores.ts'

const TUNING = { groups: 2, leaseMs: 1 }
const COUNT = 100

/** Times of backups during a move of two groups, in their order. Every entity is updated between most of them. */
const TIMES = [
  'before the move',
  'while copying',
  'before the seal',
  'under the seal',
  'after the last copy',
  'after the hand-over',
  'when the target has begun',
  'after writes at the target',
  'when the second group is handed over',
  'when the move is over',
] as const
type Time = (typeof TIMES)[number]

/** Backups of both shards, and the rank that every entity had. */
interface Backup {
  readonly shards: readonly [DatabaseBackup, DatabaseBackup]
  readonly rank: number
}

const backups = new Map<Time, Backup>()
const ids: EntityId[] = []
let moving: readonly EntityId[]

function open(urls: readonly string[], plan?: FaultPlan): Promise<DataStore> {
  const shards = mysqlShards(urls)
  return DataStore.open({
    shards: plan === undefined ? shards : through(shards, (driver) => faultyDriver(driver, plan)),
    indexes,
    migrate: true,
    time: leapingTime(),
    onWarning: () => {},
  })
}

beforeAll(takeBackups, 120_000)

/** Moves buckets of a store, and takes backups meanwhile. */
async function takeBackups(): Promise<void> {
  const { urls, drop } = await freshShards(2)
  const [source, target] = urls as [string, string]
  await using writer = await open(urls)
  for (const { id } of await writer.putMany(Array.from({ length: COUNT }, (_, n) => ({ ...itemOf(n) }))))
    ids.push(id)
  const isMoving = entitiesIn(writer.context, SOME_BUCKETS)
  moving = ids.filter((id) => isMoving(parseId(id)))
  let rank = 1_000
  const update = async (): Promise<void> => {
    rank++
    const write = (id: EntityId) => () => writer.update(id, (bag) => ({ ...bag, rank }))
    await Promise.all(ids.map((id) => untilDone(write(id))))
  }
  const take = async (time: Time): Promise<void> => {
    if (!backups.has(time)) backups.set(time, { shards: [await backUp(source), await backUp(target)], rank })
  }
  await update()
  await take('before the move')

  const seen = new Set<Time>()
  /** Faults of the first call at this time. */
  const once = (time: Time, fault: Fault): Fault | undefined => {
    if (seen.has(time)) return undefined
    seen.add(time)
    return fault
  }
  await using mover = await open(urls, ({ shard, operation, args: [catalog] }) => {
    if (shard === 1 && operation === 'receive')
      return once('while copying', { before: () => take('while copying'), after: update })
    if (operation !== 'change') return undefined
    const { leaving, away = [], arrived = [] } = (catalog as ShardCatalog).serves ?? {}
    if (shard === 0 && leaving?.some(({ sealed }) => sealed !== undefined))
      return once('under the seal', {
        before: async () => {
          await update()
          await take('before the seal')
        },
        after: () => take('under the seal'),
      })
    if (shard === 0 && away.length === 1)
      return once('after the hand-over', {
        before: () => take('after the last copy'),
        after: () => take('after the hand-over'),
      })
    if (shard === 1 && arrived.length === 1)
      return once('when the target has begun', {
        after: async () => {
          await take('when the target has begun')
          await update()
          await take('after writes at the target')
        },
      })
    if (shard === 0 && away.length === 2)
      return once('when the second group is handed over', {
        after: () => take('when the second group is handed over'),
      })
    return undefined
  })
  const { state } = await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS }, TUNING)
  expect(state).toBe('done')
  await take('when the move is over')
  expect([...backups.keys()].toSorted()).toEqual(TIMES.toSorted())
  await drop()
}

/** Repeats a write that is refused for a while, as on a busy machine. */
async function untilDone(write: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      return void (await write())
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable) throw error
    }
}

/** Restores the source and the target from backups of these times, and opens the store. Returns it with the greatest rank that may be lost. */
async function restored(source: Time, target: Time): Promise<{ store: DataStore; rank: number }> {
  const { urls } = await freshShards(2)
  const [first, second] = [backups.get(source)!, backups.get(target)!]
  await restore(urls[0]!, first.shards[0])
  await restore(urls[1]!, second.shards[1])
  const store = await open(urls)
  onTestFinished(() => store.close())
  return { store, rank: Math.min(first.rank, second.rank) }
}

async function expectAll(store: DataStore, rank: number): Promise<void> {
  const found = await store.getMany(ids)
  for (const entity of found) expect(entity?.['rank']).toBeGreaterThanOrEqual(rank)
  const scanned: string[] = []
  for await (const { id } of store.scan()) scanned.push(id)
  expect(scanned.toSorted()).toEqual(ids.toSorted())
}

async function expectWhole(store: DataStore, rank: number): Promise<void> {
  await expectAll(store, rank)
  expect(await movesOf(store)).toEqual([])
  await sweep(store, { graceMs: 0 })
  await checkQueries(store)
  await checkIndexes(store)
}

/** Returns all items in a long run, and one of each so many in a short one. */
const some = <T>(all: readonly T[], each: number): readonly T[] =>
  isLong ? all : all.filter((_, i) => i % each === 1)

/** Returns the times of the source and the target whose places in their order fit. */
function pairsOf(fits: (source: number, target: number) => boolean): readonly (readonly [Time, Time])[] {
  return TIMES.flatMap((source, i) =>
    TIMES.filter((_, j) => fits(i, j)).map((target) => [source, target] as const),
  )
}

test.each(some(TIMES, 2))(
  'a move goes on after both shards were restored from backups of one time: %s',
  async (time) => {
    const { store, rank } = await restored(time, time)
    expect(await store.shards.repair()).toMatchObject({ problems: [] })
    await expectWhole(store, rank)
  },
)

test.each(['while copying', 'under the seal'] as const)(
  'a move is undone after both shards were restored from backups of one time: %s',
  async (time) => {
    const { store, rank } = await restored(time, time)
    expect(await undoMove(store, 1, TUNING)).toMatchObject({ state: 'undone' })
    expect(await rowsAt(store, 1, SOME_BUCKETS)).toBe(0)
    await expectWhole(store, rank)
  },
)

test.each(
  some(
    pairsOf((source, target) => source < target),
    15,
  ),
)(
  'a store whose source was restored from an earlier backup than its target has all entities, and repair names buckets with two owners (%s, %s)',
  async (source, target) => {
    const { store, rank } = await restored(source, target)
    const { problems } = await store.shards.repair()
    for (const problem of problems) expect(problem).toMatch(/belong to shard 1, and shard 0 has gone back/)
    if (problems.length === 0) await expectWhole(store, rank)
    else await expectAll(store, rank)
  },
)

test.each(
  some(
    pairsOf((source, target) => source > target),
    6,
  ),
)(
  'a target that was restored from an earlier backup begins with all entities, or repair names its buckets (%s, %s)',
  async (source, target) => {
    const { store, rank } = await restored(source, target)
    const rows = await rowsAt(store, 0, SOME_BUCKETS)
    const { problems } = await store.shards.repair()
    if (problems.length === 0) return expectWhole(store, rank)
    for (const problem of problems) expect(problem).toMatch(/are on no shard: .* shard 1 went back/)
    // Other ways to go on with the move.
    await emptySources(store.context, {}).catch((error: unknown) => {
      if (!isLooseleafError(error, 'CONFLICT')) throw error
    })
    await expect(resumeMoves(store, TUNING)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/are on no shard|cannot go on/) as string,
    })
    expect((await store.shards.repair()).problems).toEqual(problems)
    expect(await rowsAt(store, 0, SOME_BUCKETS)).toBe(rows)
    const message = expect.stringMatching(/looseleaf shard repair/) as string
    await expect(store.getMany(moving)).rejects.toMatchObject({ code: 'SHARD_BUSY', message })
    const updates = moving.map((id) => store.update(id, (bag) => ({ ...bag, rank: 0 })))
    await expect(Promise.all(updates)).rejects.toMatchObject({ code: 'DEADLINE', message })
    await Promise.allSettled(updates)
    const others = ids.filter((id) => !moving.includes(id))
    expect(await store.getMany(others)).not.toContain(undefined)
  },
)
