import { clearTarget, come, leave } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { announcedMove, UNKNOWN } from './announced-move.ts'

test('a target gets the version bound of purged tombstones before any copy, and keeps a higher one', async () => {
  const { driver, work, epochOf } = await announcedMove()
  const [source, target] = driver.shards.map(({ entities }) => entities)
  const raise = async (shard: number, version: number): Promise<void> =>
    driver.shards[shard]!.entities.raisePurged({ updated: 9, version }, { epoch: await epochOf(shard) })
  const clear = async (): Promise<boolean> => {
    const attempt = (await leave(work))!
    return (await clearTarget(work, attempt, (await come(work, attempt, UNKNOWN))!)) !== undefined
  }
  await raise(0, 5)
  await raise(1, 3)
  expect(await clear()).toBe(false)
  expect((await target!.floor()).purged).toEqual({ updated: 9, version: 5 })
  expect(await clear()).toBe(true)
  await raise(1, 7)
  expect(await clear()).toBe(true)
  expect((await target!.floor()).purged.version).toBe(7)
  expect((await source!.floor()).purged.version).toBe(5)
})
