import type { Shard } from '@looseleaf/core'
import { expect, it } from 'vitest'
import { readableFloor } from './floor.ts'

const SECOND = 1_000_000

/** A shard whose floor and clock are these, in seconds, and what a raise of its floor answers. */
const shardOf = (floor: number, now: number, raised: number) => {
  const asked: string[] = []
  const entities = {
    floor: async () => (asked.push('floor'), { floor: floor * SECOND, now: now * SECOND, epoch: 1 }),
    raiseFloor: async () => (asked.push('raise'), raised * SECOND),
  }
  const shard = { entities, flush: async () => void asked.push('flush') } as unknown as Shard
  const look = async (place: number): Promise<number> =>
    (await readableFloor(shard, { updated: place * SECOND }, 250, undefined)).floor / SECOND
  return { asked, look }
}

it('what others have raised a floor to since the raise may be undone, and is not read yet', async () => {
  const { asked, look } = shardOf(10, 20, 25)
  expect(await look(5)).toBe(20)
  expect(asked).toEqual(['floor', 'raise'])
})

it('a clock that is behind the floor takes nothing back', async () => {
  expect(await shardOf(30, 20, 30).look(30)).toBe(30)
})

it('a failover between the two looks is told by the second', async () => {
  expect(await shardOf(10, 20, 7).look(9)).toBe(7)
})

it('a floor that another process has just raised is read when it is on the disk', async () => {
  const { asked, look } = shardOf(20, 20.1, 0)
  expect(await look(5)).toBe(20)
  expect(asked).toEqual(['floor', 'flush', 'floor'])
})
