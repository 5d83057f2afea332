import { formatId, type Shard } from '@looseleaf/core'
import type { AwayBuckets, ShardServes } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { createMovedRows, type FollowerProgress, type MovedRows } from './moved-rows.ts'

/** Returns an entity of a bucket: the router of these tests takes the bucket from the first byte. */
const idIn = (bucket: number): Uint8Array => Buffer.alloc(16, bucket)
const rowIn = (bucket: number, updated: number) => ({ id: idIn(bucket), updated, addedId: 1 })

/** The records of both shards, as they are now. */
interface Records {
  epoch: number
  own: ShardServes | undefined
  other: readonly AwayBuckets[]
}

interface View {
  readonly moved: MovedRows
  readonly shards: Shard[]
  readonly records: Records
  /** Arguments of all questions to the progress of the follower, and the numbers of shards whose catalogs were read, since the first `learn`. */
  readonly asked: unknown[]
}

/** Learns the rows of shard 1, whose buckets were moved from and to shard 0. */
async function learned(
  own: ShardServes | undefined,
  other: readonly AwayBuckets[] = [],
  progress: Partial<FollowerProgress> = {},
): Promise<View> {
  const asked: unknown[] = []
  const records: Records = { epoch: 7, own, other }
  const loading = (shardNumber: number, serves: () => ShardServes | undefined): Shard =>
    ({
      name: 'shard',
      catalog: {
        async load() {
          asked.push(shardNumber)
          return catalogOf({ shardNumber, epoch: records.epoch, serves: serves() })
        },
      },
    }) as unknown as Shard
  const shards = [loading(0, () => ({ owns: '', away: records.other })), loading(1, () => records.own)]
  const buckets = { scheme: 'buckets-1', ofId: ([bucket]: Uint8Array) => bucket }
  const context = {
    router: { fingerprint: 'buckets-1 100', buckets },
    driver: { shards },
    catalog: { latest: () => ({ layout: undefined }) },
  } as unknown as EngineContext
  const moved = createMovedRows(
    context,
    1,
    {
      sinceOn: progress.sinceOn ?? (() => 1),
      async hasHandled(...args) {
        asked.push(args)
        return progress.hasHandled?.(...args) ?? true
      },
    },
    new AbortController().signal,
  )
  await moved.learn(records.epoch)
  asked.length = 0
  return { moved, shards, records, asked }
}

const RECORD = { attempt: 1, to: 0, end: 50 }
const ARRIVED = { move: 4, attempt: 1, buckets: '20-29', from: 0, end: 90, begin: 100, afterAddedId: 0 }
const GIVEN_UP: AwayBuckets = { move: 4, attempt: 1, buckets: '20-29', to: 1, end: 90 }
const COMING = { move: 5, attempt: 1, buckets: '30-39', from: 0, afterAddedId: 0 }
const OWN: ShardServes = {
  owns: '10-29',
  coming: [COMING],
  away: [
    { ...RECORD, move: 3, buckets: '40-49' },
    { ...RECORD, move: 2, buckets: '50-59', emptied: 60 },
  ],
  arrived: [ARRIVED],
}

test('a shard without a record of its buckets gives every row, and none of its entities is over', async () => {
  const { moved } = await learned(undefined)
  expect(moved.turnOf(rowIn(15, 1))).toBe('give')
  expect(moved.isOver(idIn(15), { updated: 1_000, addedId: 0 })).toBe(false)
  expect([moved.isSource, moved.isBehind({ updated: 0, addedId: 0 }), moved.epoch]).toEqual([false, false, 7])
})

test.each([
  ['give', 'of a bucket that never moved', 15],
  ['give', 'of a bucket that has left, and whose rows are still there', 45],
  ['skip', 'of a bucket that has left, and whose rows are being deleted', 55],
  ['skip', 'of a bucket that is coming', 35],
  ['skip', 'of a bucket that was never there', 75],
])('the turn %s is that of a row %s', async (turn, _, bucket) => {
  const { moved, asked } = await learned(OWN)
  expect(moved.turnOf(rowIn(bucket, 1_000))).toBe(turn)
  expect(asked).toEqual([])
})

test('rows of a bucket that has left and is coming back are copies', async () => {
  const { moved } = await learned({ ...OWN, coming: [{ ...COMING, buckets: '45' }] })
  expect(moved.turnOf(rowIn(45, 1_000))).toBe('skip')
})

test('copies of a bucket that is coming are held until the follower has begun at their source', async () => {
  const { moved } = await learned(OWN, [], { sinceOn: () => undefined })
  expect(moved.turnOf(rowIn(35, 1))).toBe('hold')
})

const never = Promise.resolve(false)

test.each<[string, string, number, Partial<FollowerProgress>, number | undefined]>([
  ['give', 'of a follower that has handled all changes at the source', 100, {}, undefined],
  ['hold', 'of a follower that has not', 100, { hasHandled: () => never }, undefined],
  ['hold', 'of a follower that has not begun at the source', 100, { sinceOn: () => undefined }, undefined],
  ['skip', 'from before the arrival', 99, {}, undefined],
  [
    'hold',
    'from before the arrival, of a follower that has not begun at the source',
    99,
    { sinceOn: () => undefined },
    200,
  ],
  [
    'skip',
    'from before the arrival, of a follower that began before the deletes at the source',
    99,
    { sinceOn: () => 199 },
    200,
  ],
  [
    'give',
    'from before the arrival, of a follower that began when the source deleted its rows',
    99,
    { sinceOn: () => 200 },
    200,
  ],
  [
    'hold',
    'from before the arrival, of a follower that began then, and has changes to handle on another shard',
    99,
    { sinceOn: () => 200, hasHandled: () => never },
    200,
  ],
])('the turn %s is that of a row of an arrived bucket %s', async (turn, _, updated, progress, emptied) => {
  const { moved } = await learned(OWN, [{ ...GIVEN_UP, emptied }], progress)
  expect(await moved.turnOf(rowIn(25, updated))).toBe(turn)
})

test('the follower is asked about a bucket until it has handled its changes, and for all of its rows at once', async () => {
  let isHandled = false
  const { moved, asked } = await learned(OWN, [GIVEN_UP], { hasHandled: async () => isHandled })
  expect(await moved.turnOf(rowIn(25, 100))).toBe('hold')
  isHandled = true
  expect(await moved.turnOf(rowIn(25, 100))).toBe('give')
  expect(moved.turnOf(rowIn(25, 101))).toBe('give')
  expect(asked).toEqual([0, [0, 25, [GIVEN_UP], undefined], [0, 25, [GIVEN_UP], undefined]])
})

test('an entity is next once the follower has handled its changes on other shards, and stays so', async () => {
  let isHandled = false
  const { moved, asked } = await learned(OWN, [GIVEN_UP], { hasHandled: async () => isHandled })
  const id = formatId(idIn(25))
  expect(await moved.isNext(formatId(idIn(15)))).toBe(true)
  expect(await moved.isNext(id)).toBe(false)
  isHandled = true
  expect(await moved.isNext(id)).toBe(true)
  expect(moved.isNext(id)).toBe(true)
  expect(asked).toEqual([0, [0, 25, [GIVEN_UP], id], [0, 25, [GIVEN_UP], id]])
})

test('deletes of an earlier move of the bucket give no copies of this one', async () => {
  const earlier = { ...GIVEN_UP, move: 1, emptied: 10 }
  const { moved } = await learned(OWN, [earlier, GIVEN_UP], { sinceOn: () => 20 })
  expect(await moved.turnOf(rowIn(25, 99))).toBe('skip')
})

test('the follower is not asked about changes of the bucket on its own shard', async () => {
  const away = [{ ...RECORD, move: 1, buckets: '20-29' }]
  const { moved, asked } = await learned({ ...OWN, away }, [GIVEN_UP])
  expect(await moved.turnOf(rowIn(25, 100))).toBe('give')
  expect(asked).toEqual([0, [0, 25, [GIVEN_UP], undefined]])
})

test('the records of both shards are read again under another epoch, and only then', async () => {
  let isHandled = true
  const { moved, records, asked } = await learned(OWN, [GIVEN_UP], {
    sinceOn: () => 200,
    hasHandled: async () => isHandled,
  })
  const id = formatId(idIn(25))
  expect(await moved.isNext(id)).toBe(true)
  expect(await moved.turnOf(rowIn(25, 99))).toBe('skip')
  records.epoch = 8
  records.other = [{ ...GIVEN_UP, emptied: 200 }]
  asked.length = 0
  await moved.learn(7)
  expect(asked).toEqual([])
  await moved.learn(8)
  expect([asked, moved.epoch]).toEqual([[1], 8])
  isHandled = false
  expect(await moved.isNext(id)).toBe(false)
  isHandled = true
  expect(await moved.turnOf(rowIn(25, 99))).toBe('give')
})

test('a reading of another shard that fails is made again', async () => {
  const { moved, shards } = await learned(OWN, [GIVEN_UP])
  const [source] = shards
  shards[0] = { catalog: { load: () => Promise.reject(new Error('down')) } } as unknown as Shard
  await expect(moved.turnOf(rowIn(25, 100))).rejects.toThrow('down')
  shards[0] = source!
  expect(await moved.turnOf(rowIn(25, 100))).toBe('give')
})

test('another shard is read again once the follower has begun there', async () => {
  let begun: readonly number[] = []
  const { moved, asked } = await learned(OWN, [{ ...GIVEN_UP, emptied: 200 }], { sinceOn: () => begun[0] })
  expect(await moved.turnOf(rowIn(25, 99))).toBe('hold')
  expect(await moved.turnOf(rowIn(25, 99))).toBe('hold')
  begun = [200]
  expect(await moved.turnOf(rowIn(25, 99))).toBe('give')
  expect(asked.filter((question) => question === 0)).toHaveLength(2)
})

test('a follower is behind before the end of a bucket that has left, and its entities are over from there on', async () => {
  const { moved } = await learned(OWN)
  const at = (updated: number) => ({ updated, addedId: 0 })
  expect([49, 50].map((updated) => moved.isBehind(at(updated)))).toEqual([true, false])
  expect([49, 50].map((updated) => moved.isOver(idIn(45), at(updated)))).toEqual([false, true])
  expect(moved.isOver(idIn(15), at(1_000))).toBe(false)
  expect(moved.isOver(idIn(75), at(0))).toBe(true)
})

test.each([
  [{ owns: '10-29' }, false],
  [{ owns: '10-29', leaving: [{ move: 1, attempt: 1, buckets: '10', to: 0 }] }, true],
  [{ owns: '11-29', away: [{ ...RECORD, move: 1, buckets: '10' }] }, true],
])('other shards wait for a shard that gives buckets up: %j', async (own, isSource) => {
  expect((await learned(own)).moved.isSource).toBe(isSource)
})

test.each([
  [49, 59, true],
  [50, 59, false],
  [49, 60, false],
])('a follower at %i that began at %i has missed deleted changes: %s', async (updated, since, isGone) => {
  const { moved } = await learned(OWN)
  const require = (): void => moved.requireKept({ updated, addedId: 0, since })
  if (isGone) expect(require).toThrow(expect.objectContaining({ code: 'CHANGES_GONE', shard: 'shard' }))
  else expect(require).not.toThrow()
})
