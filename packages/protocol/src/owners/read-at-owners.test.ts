import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { Shard } from '@looseleaf/core'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { beforeEach, describe, expect, test } from 'vitest'
import { beforeAsking } from './before-asking.ts'
import { catalogAfter, ownersAfter } from './catalog-after.ts'
import { readAtOwners } from './read-at-owners.ts'

const idOf = (n: number): Uint8Array => Buffer.alloc(16, n)
const MOVE = { id: 1, from: 0, to: 1, buckets: '1', phase: 'both' } as const

let time: ReturnType<typeof leapingTime>
let looks: number[]
let reloads: number[]
/** Epochs that the shards have by now. */
let stored: number[]
let known: PlacedCatalog
/** The catalog after the next reading of a shard. */
let next: PlacedCatalog
let context: EngineContext

/** A catalog of three shards with these epochs, in which ids are on the shards with these numbers; 1 is the default. */
function catalogOf(
  epochs: readonly number[],
  owners: Readonly<Record<number, number>> = {},
  parts: object = {},
): PlacedCatalog {
  return {
    epochs,
    layout: { revision: 1, shards: [] },
    placement: {
      shardOfId: ([n]: Uint8Array) => owners[n!] ?? 1,
      isServed: () => true,
      isSealed: () => false,
    },
    ...parts,
  } as unknown as PlacedCatalog
}

beforeEach(() => {
  time = leapingTime()
  looks = []
  reloads = []
  stored = [5, 5, 5]
  known = catalogOf([5, 5, 5])
  next = known
  const shards = stored.map((_, number): Shard => {
    const floor = async (): Promise<object> => {
      looks.push(number)
      return { epoch: stored[number] }
    }
    return { name: `shard ${number}`, entities: { floor } } as unknown as Shard
  })
  const reload = async (shard: number): Promise<PlacedCatalog> => {
    reloads.push(shard)
    known = next
    return known
  }
  context = {
    router: { fingerprint: 'own-1', buckets: {} },
    time,
    events: { detached: <T>(work: () => T): T => work() },
    driver: { shards },
    catalog: { current: () => known, reloadShard: reload },
  } as unknown as EngineContext
})

describe('the catalog after a call', () => {
  test('a shard with its epoch keeps its catalog, and another one is read again', async () => {
    expect(await catalogAfter(context, 1, known, {})).toBe(known)
    stored[1] = 6
    next = catalogOf([5, 6, 5])
    expect(await catalogAfter(context, 1, known, {})).toBe(next)
    expect([looks, reloads]).toEqual([[1, 1], [1]])
  })

  const calls = [
    ['catalogAfter', catalogAfter],
    ['ownersAfter', ownersAfter],
  ] as const

  test.each(calls)('a router without buckets needs no look (%s)', async (_, after) => {
    stored[1] = 6
    const router = { ...context.router, buckets: undefined }
    expect(await after({ ...context, router }, 1, known, {})).toBe(known)
    expect(looks).toEqual([])
  })

  test('a look of the last two seconds is enough, and one of the last four while the next begins', async () => {
    expect(await ownersAfter(context, 1, known, {})).toBe(known)
    expect(looks).toHaveLength(1)
    time.leap(1_999)
    expect(await ownersAfter(context, 1, known, {})).toBe(known)
    expect(looks).toHaveLength(1)
    time.leap(1)
    expect(await ownersAfter(context, 1, known, {})).toBe(known)
    expect(looks).toHaveLength(2)
    time.leap(4_000)
    stored[1] = 6
    next = catalogOf([5, 6, 5])
    expect(await ownersAfter(context, 1, known, {})).toBe(next)
  })

  test('a look from before the call is not enough while a move of the shard is announced', async () => {
    const moving = catalogOf([5, 5, 5], {}, { layout: { revision: 1, shards: [], moves: [MOVE] } })
    expect(await ownersAfter(context, 2, moving, {})).toBe(moving)
    expect(looks).toEqual([2])
    expect(await ownersAfter(context, 1, moving, {})).toBe(moving)
    expect(await ownersAfter(context, 1, moving, {})).toBe(moving)
    expect(looks).toEqual([2, 1, 1, 1])
  })

  test.each(calls)('a signal ends the wait for a look (%s)', async (_, after) => {
    const shard = context.driver.shards[1]!
    Object.assign(shard.entities, { floor: () => new Promise(() => undefined) })
    const controller = new AbortController()
    const waiting = after(context, 1, known, { signal: controller.signal })
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
  })
})

describe('a read at the owners', () => {
  test('each shard is asked once for its distinct ids', async () => {
    known = catalogOf([5, 5, 5], { 2: 0 })
    const asked: unknown[] = []
    await readAtOwners(context, [idOf(1), idOf(2), idOf(1), idOf(3)], async ({ shard, ids, areOwned }) => {
      asked.push([shard.name, ids.map(([n]) => n)])
      expect(await areOwned()).toBe(true)
      return []
    })
    expect(asked).toEqual([
      ['shard 1', [1, 3]],
      ['shard 0', [2]],
    ])
    await readAtOwners(context, [], async () => expect.unreachable())
  })

  test('answers that do not count are asked for again, at the owner of then', async () => {
    stored[1] = 6
    next = catalogOf([5, 6, 5], { 2: 0 })
    const asked: unknown[] = []
    await readAtOwners(context, [idOf(1), idOf(2)], async ({ shard, ids, areOwned }) => {
      asked.push([shard.name, ids.map(([n]) => n), await areOwned()])
      return asked.length === 1 ? ids.slice(1) : []
    })
    expect(asked).toEqual([
      ['shard 1', [1, 2], false],
      ['shard 0', [2], true],
    ])
    expect(time.slept).toBe(0)
  })

  test('owners that change all the time are an error, after pauses of some seconds', async () => {
    let tries = 0
    const reading = readAtOwners(context, [idOf(1)], async ({ ids }) => (tries++, ids))
    await expect(reading).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      message: expect.stringContaining('no owner was found 30 times in a row'),
    })
    expect(tries).toBe(30)
    expect(time.slept).toBeGreaterThan(3_000)
  })

  test('a pause comes before the third try, and grows, and a signal ends it', async () => {
    const { signal } = new AbortController()
    await expect(beforeAsking(context, [idOf(1)], 1, { signal: AbortSignal.abort() })).resolves.toBe(known)
    expect(time.slept).toBe(0)
    await beforeAsking(context, [idOf(1)], 2, { signal })
    expect(time.slept).toBe(2)
    await beforeAsking(context, [idOf(1)], 3, { signal })
    expect(time.slept).toBe(2 + 4)
    const aborted = beforeAsking(context, [idOf(1)], 2, { signal: AbortSignal.abort() })
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' })
  })

  test('an id whose shard has not begun is waited for', async () => {
    const isServed = ([n]: Uint8Array): boolean => n === 4
    const unserved = catalogOf([5, 5, 5], { 2: 0 })
    known = { ...unserved, placement: { ...unserved.placement, isServed } }
    // Shard 0 has begun in the meantime, and shard 1 as well.
    next = catalogOf([5, 6, 5], { 2: 0 })
    expect(await beforeAsking(context, [idOf(4)], 0, {})).toBe(known)
    expect(reloads).toEqual([])
    expect(await beforeAsking(context, [idOf(1), idOf(3), idOf(2)], 0, {})).toBe(next)
    expect(reloads).toEqual([1])
  })
})
