import { LooseleafError, type Shard } from '@looseleaf/core'
import type {
  AwayBuckets,
  ChangesRange,
  EntityPageRow,
  PageOptions,
  ShardServes,
  StoreLayout,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { followChanges, type ChangedRun } from './follow-changes.ts'
import type { FollowedPlace } from '../purged.ts'

/** Returns a tombstone of a bucket at this time. */
const rowAt = (updated: number, bucket = 15): EntityPageRow =>
  ({
    id: Buffer.alloc(16, bucket),
    version: 1,
    updated,
    addedId: updated,
    bodyBytes: 0,
    body: null,
  }) as EntityPageRow

/** A row whose body does not come with its page, and is in no run with another one. */
const largeRowAt = (updated: number, bucket?: number): EntityPageRow =>
  ({ ...rowAt(updated, bucket), bodyBytes: 9_000_000, body: undefined }) as EntityPageRow

/** A shard whose rows, floor and bounds a test changes while a follower reads it. */
interface Followed {
  rows: EntityPageRow[]
  floor: number
  purged: number
  epoch: number
  serves: ShardServes | undefined
  layout: StoreLayout | undefined
  /** Buckets that another shard has given up to this one. */
  away: readonly AwayBuckets[]
  placeOn: (shard: number) => FollowedPlace | undefined
  /** Called before each page with its limit. */
  onPage: (limit: number) => void
  /** Returns the body and the version of each row that did not come with its page. */
  onRead: () => object
  /** Called before each reading of the floor. */
  onFloor: () => void
}

interface Follower {
  readonly shard: Followed
  readonly time: LeapingTime
  readonly retried: unknown[]
  readonly changes: AsyncGenerator<ChangedRun, void, undefined>
}

/** Follows a shard, and fails at this many reads, so that a follower without news ends. */
function follow(parts: Partial<Followed>, from: Partial<FollowedPlace> = {}, reads = 20): Follower {
  const shard: Followed = {
    rows: [],
    floor: 100,
    purged: 0,
    epoch: 7,
    serves: undefined,
    layout: undefined,
    away: [],
    placeOn: () => undefined,
    onPage() {},
    onRead: () => ({ version: 1, body: null }),
    onFloor() {},
    ...parts,
  }
  const entities = {
    async floor() {
      shard.onFloor()
      const { floor, purged, epoch } = shard
      return { floor, now: floor, epoch, purged: { updated: purged, version: 0 } }
    },
    async pageOfChanges({ after, until = Infinity }: ChangesRange, limit: number, _: PageOptions) {
      shard.onPage(limit)
      return shard.rows.filter(({ updated }) => updated > after.updated && updated < until).slice(0, limit)
    },
    read: async (ids: readonly Uint8Array[]) => ids.map(() => shard.onRead()),
  }
  const context = {
    router: {
      fingerprint: 'buckets-1 100',
      buckets: { scheme: 'buckets-1', ofId: ([bucket]: Uint8Array) => bucket },
    },
    driver: {
      shards: [
        {
          name: 'shard',
          entities,
          flush: async () => {},
          catalog: { load: async () => catalogOf({ epoch: shard.epoch, serves: shard.serves }) },
        } as unknown as Shard,
        {
          catalog: {
            load: async () => catalogOf({ shardNumber: 1, serves: { owns: '', away: shard.away } }),
          },
        } as unknown as Shard,
      ],
    },
    catalog: { latest: () => ({ layout: shard.layout }) },
    bodies: { load: async () => {} },
    time: leapingTime(),
  }
  const retried: unknown[] = []
  const changes = followChanges(
    context as unknown as EngineContext,
    0,
    { updated: 1, addedId: 0, since: 1, ...from },
    {
      pollMs: 10,
      signal: new AbortController().signal,
      onRetry: (error) => retried.push(error),
      checkOpen() {
        if (reads-- === 0) throw new Error('The test has ended.')
      },
      placeOn: (number) => shard.placeOn(number),
    },
  )
  return { shard, time: context.time, retried, changes }
}

async function nextOf({
  changes,
}: Follower): Promise<readonly [places: readonly number[], place: FollowedPlace]> {
  const { value } = await changes.next()
  const { rows, place } = value as ChangedRun
  return [rows.map(({ updated }) => updated), place]
}

const at = (updated: number, addedId = 0): FollowedPlace => ({ updated, addedId, since: 1 })
const AWAY = { move: 1, attempt: 1, buckets: '40-49', to: 1, end: 50 }

test('the place is at the floor after the last row', async () => {
  const follower = follow({ rows: [rowAt(5), rowAt(6)] })
  expect(await nextOf(follower)).toEqual([[5, 6], at(100)])
  expect(follower.time.slept).toBe(0)
})

test('full pages follow each other without a pause, and the place is that of their last row', async () => {
  const follower = follow({ rows: Array.from({ length: 501 }, (_, i) => rowAt(2 + i)), floor: 1_000 })
  const [first, place] = await nextOf(follower)
  expect([first.length, place]).toEqual([500, at(501, 501)])
  expect(await nextOf(follower)).toEqual([[502], at(1_000)])
  expect(follower.time.slept).toBe(0)
})

test('the place of a quiet shard moves only past the changes of departed buckets', async () => {
  const serves = { owns: '0-39', away: [AWAY] }
  expect(await nextOf(follow({ serves }))).toEqual([[], at(100)])
  await expect(follow({ serves }, { updated: 50 }).changes.next()).rejects.toThrow('has ended')
})

test('the place of a follower behind a departed bucket does not pass a row that is replaced meanwhile', async () => {
  const follower = follow({ rows: [rowAt(5)], serves: { owns: '0-39', away: [AWAY] } })
  follower.shard.onPage = (limit) => {
    if (limit === 1) follower.shard.rows = []
  }
  expect(await nextOf(follower)).toEqual([[5], at(100)])
})

test('a follower goes back to the floor of a server that lost commits', async () => {
  const follower = follow({ rows: [rowAt(60)], floor: 50 }, { updated: 90, since: 80 })
  let readings = 0
  follower.shard.onFloor = () => {
    if (++readings > 1) follower.shard.floor = 100
  }
  expect(await nextOf(follower)).toEqual([[60], { updated: 100, addedId: 0, since: 50 }])
})

test.each([
  ['before a page', 1],
  ['while a page is read', 3],
])('tombstones that are purged %s end the changes', async (_, readings) => {
  const follower = follow({ rows: [rowAt(5)] })
  let count = 0
  follower.shard.onFloor = () => {
    if (++count >= readings) follower.shard.purged = 2
  }
  await expect(follower.changes.next()).rejects.toMatchObject({ code: 'CHANGES_GONE', shard: 'shard' })
  expect(count).toBeGreaterThanOrEqual(readings)
})

test.each([
  ['has rows', [rowAt(5)], 500],
  ['is empty', [], 1],
])(
  'moved rows that the shard deletes while a page is read end the changes: the page %s',
  async (_, rows, limit) => {
    const follower = follow({ rows, serves: { owns: '0-39', away: [AWAY] } })
    follower.shard.onPage = (some) => {
      if (some !== limit) return
      follower.shard.epoch = 8
      follower.shard.serves = { owns: '0-39', away: [{ ...AWAY, emptied: 90 }] }
    }
    await expect(follower.changes.next()).rejects.toMatchObject({ code: 'CHANGES_GONE', shard: 'shard' })
  },
)

test.each([
  [{ updated: 0, since: 0 }, 100],
  [{ updated: 0, since: 7 }, 7],
  [{ updated: 5, since: 0 }, 0],
])('only a follower that has not begun begins at the floor: %j', async (from, since) => {
  expect(await nextOf(follow({ rows: [rowAt(6)] }, from))).toEqual([[6], { ...at(100), since }])
})

test('a read is made again after failures of the shard, with growing pauses', async () => {
  const follower = follow({ rows: [rowAt(5)] })
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
  let failures = 10
  follower.shard.onFloor = () => {
    if (failures-- > 0) throw down
  }
  expect(await nextOf(follower)).toEqual([[5], at(100)])
  expect(follower.retried).toEqual(Array.from({ length: 10 }, () => down))
  // 20, 40 … 1,280 and three times 2,000 milliseconds.
  expect(follower.time.slept).toBe(20 * 127 + 3 * 2_000)
})

test('the pauses begin anew after a read that succeeds', async () => {
  const follower = follow({})
  let readings = 0
  follower.shard.onFloor = () => {
    // A read that succeeds has two readings.
    if (++readings % 3 === 1) throw new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
    if (readings === 7) follower.shard.rows = [rowAt(5)]
  }
  await expect(follower.changes.next()).rejects.toThrow('has ended')
  expect(follower.time.slept).toBe(10 * 20 + 10 * 10)
})

test('a row that is held ends the run, and the next page begins before it once its turn comes', async () => {
  const arrival = { move: 2, attempt: 1, buckets: '20-29', from: 1, end: 3, begin: 4, afterAddedId: 0 }
  const follower = follow({
    rows: [largeRowAt(5), largeRowAt(6, 25), largeRowAt(7)],
    serves: { owns: '0-39', arrived: [arrival] },
    away: [{ move: 2, attempt: 1, buckets: '20-29', to: 0, end: 3 }],
  })
  let looks = 0
  follower.shard.placeOn = () => (++looks > 2 ? { updated: 3, addedId: 0, since: 1 } : undefined)
  expect(await nextOf(follower)).toEqual([[5], at(5, 5)])
  expect(await nextOf(follower)).toEqual([[6], at(6, 6)])
  expect(await nextOf(follower)).toEqual([[7], at(100)])
  expect(follower.time.slept).toBeGreaterThan(0)
})

test('a row that is replaced before its body is read ends the run, and the next page begins before it at once', async () => {
  const follower = follow({ rows: [largeRowAt(5), largeRowAt(6), largeRowAt(7)] })
  let reads = 0
  follower.shard.onRead = () => {
    if (++reads === 2) follower.shard.rows = [rowAt(7), rowAt(30)]
    return { version: reads === 2 ? 2 : 1, body: null }
  }
  expect(await nextOf(follower)).toEqual([[5], at(5, 5)])
  expect(await nextOf(follower)).toEqual([[7, 30], at(100)])
  expect(follower.time.slept).toBe(0)
})

test('the changes of a removed shard end at the place of the follower, also if the shard does not answer', async () => {
  const follower = follow({}, { updated: 40 })
  follower.shard.onFloor = () => {
    follower.shard.layout = { revision: 1, shards: [{ name: 'shard', state: 'removed' }] }
    throw new LooseleafError('SHARD_UNAVAILABLE', 'The server is gone.', { shard: 'shard' })
  }
  expect(await nextOf(follower)).toEqual([[], at(40)])
  expect(await follower.changes.next()).toEqual({ done: true, value: undefined })
  expect([follower.retried, follower.time.slept]).toEqual([[], 0])
})

test('an error that stays ends the changes', async () => {
  const follower = follow({})
  const error = new LooseleafError('STORE_TOO_NEW', 'The store is newer.')
  follower.shard.onFloor = () => {
    throw error
  }
  await expect(follower.changes.next()).rejects.toBe(error)
  expect(follower.retried).toEqual([])
})
