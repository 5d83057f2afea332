import type { Shard } from '@looseleaf/core'
import { expect, it } from 'vitest'
import { readableFloor, timeBelowFloor } from './floor.ts'

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
