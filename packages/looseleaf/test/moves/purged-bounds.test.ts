import { clearTarget, come, entitiesIn, leave } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { announcedMove, OWNED, UNKNOWN } from './announced-move.ts'

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

test('a target without rows of the buckets remembers the place behind its other rows', async () => {
  const { driver, work, epochOf, servesOf } = await announcedMove()
  const isOther = entitiesIn(work.context, OWNED[1])
  const ids: Uint8Array[] = []
  while (ids.length < 3) {
    const id = work.context.router.newId()
    if (isOther(id)) ids.push(id)
  }
  const { entities } = driver.shards[1]!
  const rows = ids.map((id) => ({ id, version: 1, body: Buffer.from('x') }))
  await entities.insert(rows, { epoch: await epochOf(1) })
  const attempt = (await leave(work))!
  expect(await clearTarget(work, attempt, (await come(work, attempt, UNKNOWN))!)).toBeDefined()
  const places = (await entities.pageByAdded(0, 10)).map(({ addedId }) => addedId)
  expect(places).toHaveLength(3)
  expect((await servesOf(1)).coming).toMatchObject([{ afterAddedId: Math.max(...places) }])
})
