import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { bucketOfId } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { steppedTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { byRank, byUser, filledStore, indexes, SOME_BUCKETS } from './stores.ts'

const skip = { onUnavailable: 'skip' } as const

/**
 * The time of readers and movers. A move waits until no process relies on what it knew before the move, so both need the same time. It passes
 * by turns of the event loop, so that no page runs out of time on a busy machine.
 */
const time = steppedTime()
/** A read takes some ten steps at most, and a page may take fifty. */
const STEP_MS = 100

/** A process that reads while another one moves buckets. It cannot reach the lost shard. */
interface Reader {
  readonly store: DataStore
  lost: string | undefined
}

async function openReader(driver: Driver): Promise<Reader> {
  const reader: { store?: DataStore; lost: string | undefined } = { lost: undefined }
  const plan = ({ shard }: { readonly shard: number }) => {
    const { name } = driver.shards[shard]!
    if (name !== reader.lost) return undefined
    return {
      before() {
        throw new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard: name })
      },
    }
  }
  const shards = keepOpen(faultyDriver(driver, plan))
  reader.store = await DataStore.open({ shards, indexes, queryTimeMs: 5_000, time, onWarning: () => {} })
  return reader as Reader
}

async function whileTimePasses(call: Promise<void>): Promise<void> {
  let isOver = false
  const passing = (async () => {
    do await time.step(STEP_MS)
    while (!isOver)
  })()
  await Promise.all([call.finally(() => (isOver = true)), passing])
}

/** Moves half of the buckets of shard 0 while `read` is called again and again. Returns the steps that it met. */
async function duringMove(
  mover: DataStore,
  read: (ids: readonly EntityId[]) => Promise<void>,
): Promise<Set<string>> {
  const ids: EntityId[] = []
  for await (const { id } of mover.scan()) ids.push(id)
  const met = new Set<string>()
  let step = 'before'
  let isOver = false
  const move = moveBuckets(
    mover,
    { from: 0, to: 1, buckets: SOME_BUCKETS },
    { onProgress: (progress) => void (step = progress.step) },
  ).finally(() => (isOver = true))
  const reading = (async () => {
    for (let isLast = false; !isLast;) {
      isLast = isOver
      met.add(step)
      await whileTimePasses(read(ids))
    }
  })()
  await Promise.all([move, reading])
  return met
}

test('reads that skip missing shards are whole in every step of a move, because all shards answer', async () => {
  const driver = await memoryShards(2).connect()
  const mover = await filledStore(driver, 120, time)
  const { store } = await openReader(driver)
  const met = await duringMove(mover, async (ids) => {
    const [found, page, ofUser] = await Promise.all([
      store.getMany(ids, skip),
      store.query(byRank, {}, { scatter: true, limit: 500, ...skip }),
      store.query(byUser, { user: 'user 4' }, { limit: 500, ...skip }),
    ])
    expect(found).toMatchObject({ unread: [], complete: true, missingShards: [] })
    expect(found.items.map((item) => item?.id)).toEqual(ids)
    expect([page.items.length, page.cost.complete, page.cost.missingShards]).toEqual([
      ids.length,
      true,
      undefined,
    ])
    expect(ofUser.cost.complete).toBe(true)
    expect(ofUser.items.length).toBe(found.items.filter((item) => item?.['user'] === 'user 4').length)
  })
  expect(met.size).toBeGreaterThan(3)
  await Promise.all([store.close(), mover.close()])
  await driver.close()
}, 30_000)

/** Buckets of the other shard that do not move, by the shard that is lost. */
test.each([
  ['memory 0', 2048, 4095],
  ['memory 1', 1024, 2047],
] as const)(
  'a read that skips %s during a move calls no existing entity absent, and has those that are on the other shard all the time',
  async (lost, first, last) => {
    const isOnTheOther = (id: string): boolean => {
      const bucket = bucketOfId(parseId(id as EntityId))
      return bucket >= first && bucket <= last
    }
    const driver = await memoryShards(2).connect()
    const mover = await filledStore(driver, 120, time)
    const reader = await openReader(driver)
    const { store } = reader
    const met = await duringMove(mover, async (ids) => {
      const staying = ids.filter((id) => isOnTheOther(id))
      reader.lost = lost
      const found = await store.getMany(ids, skip)
      const page = await store.query(byRank, {}, { scatter: true, limit: 500, ...skip })
      reader.lost = undefined
      const unread = new Set<string>(found.unread)
      const read = new Set(found.items.flatMap((item) => (item === undefined ? [] : [item.id])))
      expect(ids.filter((id) => !read.has(id) && !unread.has(id))).toEqual([])
      expect(staying.filter((id) => !read.has(id))).toEqual([])
      expect(found.missingShards).toEqual([lost])
      const onPage = new Set<string>(page.items.map(({ id }) => id))
      expect(staying.filter((id) => !onPage.has(id))).toEqual([])
      expect(page.cost).toMatchObject({ complete: false, missingShards: [lost] })
    })
    expect(met.size).toBeGreaterThan(3)
    await Promise.all([store.close(), mover.close()])
    await driver.close()
  },
  30_000,
)
