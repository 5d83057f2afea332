import type { Shard } from '@looseleaf/core'
import { expect, it } from 'vitest'
import { isFloorOld, placeAt, placeOf, readableFloor, timeBelowFloor } from './floor.ts'

const SECOND = 1_000_000

/** Creates a shard with this floor, clock and answer of a raise, in seconds. */
const shardOf = (floor: number, now: number, raised: number) => {
  const calls: string[] = []
  const entities = {
    floor: async () => (calls.push('floor'), { floor: floor * SECOND, now: now * SECOND, epoch: 1 }),
    raiseFloor: async () => (calls.push('raise'), raised * SECOND),
  }
  const shard = { entities, flush: async () => void calls.push('flush') } as unknown as Shard
  const floorAt = async (place: number): Promise<number> =>
    (await readableFloor(shard, { updated: place * SECOND }, 250, undefined)).floor / SECOND
  return { calls, floorAt }
}

it('a floor that another process raised further is not read before it is durable', async () => {
  const { calls, floorAt } = shardOf(10, 20, 25)
  expect(await floorAt(5)).toBe(20)
  expect(calls).toEqual(['floor', 'raise'])
})

it('a clock behind the floor does not lower the floor', async () => {
  expect(await shardOf(30, 20, 30).floorAt(30)).toBe(30)
})

it('a failover between the two reads shows in the second one', async () => {
  expect(await shardOf(10, 20, 7).floorAt(9)).toBe(7)
})

it('a floor that another process has just raised is read after a flush', async () => {
  const { calls, floorAt } = shardOf(20, 20.1, 0)
  expect(await floorAt(5)).toBe(20)
  expect(calls).toEqual(['floor', 'flush', 'floor'])
})

it.each([
  ['the first of two raises, the second of which is above it', [7, 8], [1, 1, 1], 7],
  ['that of later raises if the server was connected to anew in between', [7, 9, 5, 6], [1, 2, 2, 2], 5],
  ['that of later raises if a crash has lowered the floor in between', [7, 7, 8, 9], [1, 1, 1, 1], 8],
])('a time below the floor on disk is %s', async (_, floors, connections, time) => {
  const shard = {
    entities: { raiseFloor: async () => floors.shift() },
    connections: () => ({ opened: connections.shift() }),
  } as unknown as Shard
  expect(await timeBelowFloor(shard, undefined)).toBe(time)
  expect(floors).toEqual([])
})

const PURGED = { updated: 3, version: 4 }

/** Reads the floor of a shard whose floor and clock are these, in seconds, for a place; another reading of the floor finds `later`. */
async function readFloor(floor: number, now: number, place: number, later = floor) {
  const { signal } = new AbortController()
  const calls: unknown[] = []
  const floors = [floor, later]
  const entities = {
    async floor(options: unknown) {
      calls.push(['floor', options])
      return { floor: floors.shift()! * SECOND, now: now * SECOND, purged: PURGED, epoch: 6 }
    },
    async raiseFloor(options: unknown) {
      calls.push(['raise', options])
      return now * SECOND
    },
  }
  const flush = async (options: unknown): Promise<void> => {
    await Promise.resolve()
    calls.push(['flush', options])
  }
  const shard = { entities, flush } as unknown as Shard
  const found = await readableFloor(shard, { updated: place * SECOND }, 250, signal)
  const sent = calls.map((call) => {
    const [name, options] = call as [string, unknown]
    expect(options).toEqual({ signal })
    return name
  })
  expect(found).toMatchObject({ now: now * SECOND, purged: PURGED, epoch: 6 })
  return { floor: found.floor / SECOND, isFlushed: found.isFlushed, sent }
}

it.each<[string, [number, number, number, number?], number, boolean, string[]]>([
  ['below the place, as after a failover', [20, 60, 21], 20, false, ['floor']],
  ['at the place, and young', [20, 20.2, 20], 20, false, ['floor']],
  ['at the place, and old', [20, 20.25, 20], 20.25, true, ['floor', 'raise']],
  ['raised by another process', [20, 20.2, 19], 20, true, ['floor', 'flush', 'floor']],
  ['lowered by a crash before the flush', [20, 20.2, 18, 19], 19, true, ['floor', 'flush', 'floor']],
  ['raised further meanwhile', [20, 20.2, 18, 21], 20, true, ['floor', 'flush', 'floor']],
])('a floor that is %s', async (_, parts, floor, isFlushed, sent) => {
  expect(await readFloor(...parts)).toEqual({ floor, isFlushed, sent })
})

it('a floor is old from its age on, and ahead of the clock', () => {
  const old = (floor: number): boolean => isFloorOld({ floor, now: 1_000_000 }, 250)
  expect([749_999, 750_000, 750_001, 1_000_000, 1_000_001].map(old)).toEqual([true, true, false, false, true])
})

it('a place is that of a row, or before all rows of a time', () => {
  const row = { updated: 7, addedId: 3, version: 5 }
  expect(placeOf(row)).toEqual({ updated: 7, addedId: 3 })
  expect(placeAt(7)).toEqual({ updated: 7, addedId: 0 })
})
