import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { LooseleafError } from '@looseleaf/core'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { beforeEach, expect, test } from 'vitest'
import { allBuckets, walkOwned, watchOwned } from './walk-owned.ts'

/** A row of a bucket. */
interface Row {
  readonly id: Uint8Array
}

/** The buckets 0 and 1 of a store are on shard 0, and 2 and 3 on shard 1. */
const OWNERS = [0, 0, 1, 1]
const MOVES = [{ id: 1, from: 0, to: 1, buckets: '1', phase: 'both' }]
const options = {}

/** A catalog with these owners. `arrivals` has the times at which buckets came. */
function placed(
  owners: readonly number[],
  arrivals: Readonly<Record<number, number>> = {},
  parts: object = {},
): PlacedCatalog {
  const arrivalOf = (bucket: number): number => arrivals[bucket] ?? -1
  return {
    epochs: [5, 5],
    layout: { revision: 1, shards: [{}, {}], moves: MOVES },
    shards: [],
    placement: {
      shardOfBucket: owners,
      shardOfId: ([bucket]: Uint8Array) => owners[bucket!],
      isServed: () => true,
      arrivalOfId: ([bucket]: Uint8Array) => arrivalOf(bucket!),
      servedOn: (shard: number) =>
        new Map(
          owners.flatMap((owner, bucket) => (owner === shard ? [[bucket, arrivalOf(bucket)] as const] : [])),
        ),
    },
    ...parts,
  } as unknown as PlacedCatalog
}

let known: PlacedCatalog
let next: PlacedCatalog
let stored: number
let time: ReturnType<typeof leapingTime>
let context: EngineContext
/** Pages of the tables by shard, each a list of buckets. */
let tables: readonly (readonly (readonly number[])[])[]
let reads: (readonly [shard: number, after: number])[]
/** Runs before a page is read. */
let beforePage: (shard: number, page: number) => void
/** Runs before the catalog of a shard is read. */
let beforeLoad: () => void

beforeEach(() => {
  known = placed(OWNERS)
  next = known
  stored = 5
  reads = []
  beforePage = () => undefined
  beforeLoad = () => undefined
  time = leapingTime()
  const shards = [0, 1].map((number) => ({
    name: `shard ${number}`,
    entities: { floor: async () => ({ epoch: stored }) },
    flush: async () => undefined,
    catalog: {
      async load() {
        beforeLoad()
        return catalogOf({ epoch: stored, shardNumber: number })
      },
    },
  }))
  const reload = async (): Promise<PlacedCatalog> => (known = next)
  context = {
    router: { fingerprint: 'own-1', buckets: { shards: OWNERS, ofId: ([bucket]: Uint8Array) => bucket } },
    time,
    events: { detached: <T>(work: () => T): T => work() },
    driver: { shards },
    catalog: { current: () => known, reload, reloadShard: reload },
  } as unknown as EngineContext
})

const rowOf = (bucket: number): Row => ({ id: Buffer.alloc(16, bucket) })
const bucketsOf = (rows: readonly Row[]): number[] => rows.map(({ id }) => id[0]!)

/** Changes the owners, as a process that moves buckets. */
function move(catalog: PlacedCatalog): void {
  stored++
  next = { ...catalog, epochs: [stored, stored] }
}

async function* read(shard: number, after: number): AsyncGenerator<readonly Row[], void, undefined> {
  reads.push([shard, after])
  for (const [page, buckets] of tables[shard]!.entries()) {
    beforePage(shard, page)
    yield buckets.map(rowOf)
  }
}

/** Returns the pages of a walk, each with its shard. */
async function walk(): Promise<(readonly [shard: number, buckets: readonly number[]])[]> {
  const found: (readonly [number, readonly number[]])[] = []
  for await (const [rows, shard] of walkOwned(context, read, options)) found.push([shard, bucketsOf(rows)])
  return found
}

test('rows count as long as the shard owns their buckets', async () => {
  const watch = await watchOwned(context, 0, options)
  const owned = async (...buckets: number[]): Promise<number[]> =>
    bucketsOf(await watch.owned(buckets.map(rowOf)))
  expect(await owned(0, 1, 2)).toEqual([0, 1])
  move(placed([1, 0, 1, 1]))
  expect(await owned(0, 1)).toEqual([1])
  expect([...watch.kept]).toEqual([1])
  // A bucket that comes, or comes back, has rows that were not seen.
  move(placed([0, 0, 0, 1], { 0: 20, 1: 20, 2: 20 }))
  expect(await owned(0, 1, 2)).toEqual([])
  expect([...watch.kept]).toEqual([])
  expect(watch.catalog).toBe(next)
  expect(await owned(0, 1, 2, 3)).toEqual([0, 1, 2])
})

/** Returns a catalog in which the owner of a bucket has not begun to serve it. */
function withoutService(unserved: number): PlacedCatalog {
  const { placement, ...catalog } = placed(OWNERS)
  const isServed = ([bucket]: Uint8Array): boolean => bucket !== unserved
  const servedOn = (shard: number): ReadonlyMap<number, number> =>
    new Map([...placement.servedOn(shard)].filter(([bucket]) => bucket !== unserved))
  return { ...catalog, placement: { ...placement, isServed, servedOn } }
}

test('rows of a bucket that no shard serves yet do not count', async () => {
  known = withoutService(1)
  const watch = await watchOwned(context, 0, options)
  expect(bucketsOf(await watch.owned([0, 1].map(rowOf)))).toEqual([0])
})

test('a bucket that begins at its shard is read there after a pause', async () => {
  next = withoutService(2)
  known = next
  tables = [[[0, 1]], [[2, 3]]]
  beforeLoad = () => {
    if (next === known) move(placed(OWNERS, { 2: 20 }))
  }
  expect(await walk()).toEqual([
    [0, [0, 1]],
    [1, [3]],
    [1, [2]],
  ])
  expect(time.slept).toBe(50)
})

test('a bucket that no shard serves ends the walk after 200 readings in vain', async () => {
  next = withoutService(2)
  known = next
  tables = [[[0, 1]], [[2, 3]]]
  await expect(walk()).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: expect.stringContaining('no owner was found 200 times in a row'),
  })
  expect(time.slept).toBe(199 * 50)
  expect(reads).toHaveLength(2)
})

test('rows of another shard among those that were read show that buckets are moving', async () => {
  const quiet = { layout: { revision: 1, shards: [{}, {}], moves: [] } }
  known = placed(OWNERS, {}, quiet)
  const before = known
  const watch = await watchOwned(context, 0, options)
  move(placed([0, 1, 1, 1], { 1: 20 }, quiet))
  // A look of the last seconds is enough.
  expect(bucketsOf(await watch.owned([0, 1].map(rowOf)))).toEqual([0, 1])
  expect(watch.catalog).toBe(before)
  expect(bucketsOf(await watch.owned([0, 1, 2].map(rowOf)))).toEqual([0])
  expect(watch.catalog).toBe(next)
})

test('all rows are yielded with their shard, and copies are not', async () => {
  tables = [
    [[0, 1], [2]],
    [[2, 1], [3]],
  ]
  expect(await walk()).toEqual([
    [0, [0, 1]],
    [1, [2]],
    [1, [3]],
  ])
  expect(reads).toEqual([
    [0, 0],
    [1, 0],
  ])
})

test('by a layout without moves, a row on the wrong shard is yielded as well', async () => {
  next = placed(OWNERS, {}, { layout: { revision: 1, shards: [{}, {}] } })
  known = next
  tables = [[[0, 3]], [[2]]]
  expect(await walk()).toEqual([
    [0, [0, 3]],
    [1, [2]],
  ])
})

test('a bucket that moves to a later shard is read there', async () => {
  tables = [[[0], [1]], [[1, 2]]]
  beforePage = (shard, page) => {
    if (shard === 0 && page === 1) move(placed([0, 1, 1, 1], { 1: 20 }))
  }
  expect(await walk()).toEqual([
    [0, [0]],
    [1, [1, 2]],
  ])
  expect(reads).toHaveLength(2)
})

test('a bucket that moves to an earlier shard is read there again, from its place on', async () => {
  tables = [[[0, 2]], [[2, 3]]]
  const arrived = [{ move: 1, attempt: 1, from: 1, end: 1, begin: 20, buckets: '2', afterAddedId: 70 }]
  beforePage = (shard) => {
    if (shard === 1) move(placed([0, 0, 0, 1], { 2: 20 }, { shards: [{ serves: { owns: '0-2', arrived } }] }))
  }
  expect(await walk()).toEqual([
    [0, [0]],
    [1, [3]],
    [0, [2]],
  ])
  expect(reads).toEqual([
    [0, 0],
    [1, 0],
    [0, 70],
  ])
})

test('a removed shard is not read', async () => {
  Object.assign(context.driver, { removed: new Set([0]) })
  next = placed([1, 1, 1, 1])
  known = next
  tables = [[[9]], [[0, 1, 2, 3]]]
  expect(await walk()).toEqual([[1, [0, 1, 2, 3]]])
  expect(reads).toEqual([[1, 0]])
})

test('an outage ends the walk, unless the shard is being removed', async () => {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'Away.', { shard: 'shard 0' })
  tables = [[[0]], [[0, 1, 2, 3]]]
  let error: Error = down
  beforePage = (shard) => {
    if (shard === 0) throw error
  }
  await expect(walk()).rejects.toBe(down)
  expect(reads).toEqual([[0, 0]])
  const layout = { revision: 2, shards: [{ state: 'removed' }, {}], moves: [] }
  move(placed([1, 1, 1, 1], {}, { layout }))
  expect(await walk()).toEqual([[1, [0, 1, 2, 3]]])
  error = new TypeError('a mistake')
  await expect(walk()).rejects.toBe(error)
})

test('a store whose router has no buckets is read shard by shard', async () => {
  const router = { ...context.router, buckets: undefined }
  context = { ...context, router }
  next = placed([], {}, { layout: undefined })
  known = next
  tables = [[[0], []], [[2]]]
  expect(allBuckets(context).size).toBe(0)
  expect(await walk()).toEqual([
    [0, [0]],
    [1, [2]],
  ])
})
