import type { EntityInsert } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { newEntity, withBench, type ContractParts } from './harness.ts'

const epoch = 1

export function purgeContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  async function insertTombstone(version: number): Promise<EntityInsert> {
    const row = newEntity(version)
    await bench.shard.entities.insert([{ ...row, body: null }], { epoch })
    return row
  }

  test('the bounds of the purge start at 0, and neither gets lower', async () => {
    const { entities } = bench.shard
    expect((await entities.floor()).purged).toEqual({ updated: 0, version: 0 })
    await entities.raisePurged({ updated: 20, version: 7 }, { epoch })
    await entities.raisePurged({ updated: 10, version: 8 }, { epoch })
    expect((await entities.floor()).purged).toEqual({ updated: 20, version: 8 })
    await entities.raisePurged({ updated: 20, version: 8 }, { epoch })
    expect((await bench.other.entities.floor()).purged).toEqual({ updated: 20, version: 8 })
  })

  test('a raise of the bounds with another epoch is STALE_EPOCH, and changes nothing', async () => {
    const { entities } = bench.shard
    const before = (await entities.floor()).purged
    await expect(entities.raisePurged({ updated: 90, version: 90 }, { epoch: 2 })).rejects.toMatchObject({
      code: 'STALE_EPOCH',
    })
    expect((await entities.floor()).purged).toEqual(before)
  })

  test('a purge deletes tombstones within the bounds, and nothing else', async () => {
    const { entities } = bench.shard
    const living = newEntity(100)
    await entities.insert([living], { epoch })
    const [low, high] = [await insertTombstone(100), await insertTombstone(300)]
    const [row] = await entities.read([low.id])
    const ids = [living.id, low.id, high.id, newEntity(1).id]
    await entities.raisePurged({ updated: row!.updated, version: 200 }, { epoch })
    expect(await entities.purge(ids)).toBe(0)
    await entities.raisePurged({ updated: row!.updated + 60_000_000, version: 200 }, { epoch })
    expect(await entities.purge(ids)).toBe(1)
    expect(await entities.readVersions(ids)).toEqual([100, undefined, 300, undefined])
    expect(await entities.purge([])).toBe(0)
  })

  test('each row of an insert needs a version above the purged ones', async () => {
    const { entities } = bench.shard
    await entities.raisePurged({ updated: 1, version: 1_001 }, { epoch })
    const [low, high] = [newEntity(1_000), newEntity(1_001)]
    for (const rows of [[low], [high, low], [low, high]]) {
      await expect(entities.insert(rows, { epoch })).rejects.toMatchObject({ code: 'STALE_EPOCH' })
    }
    expect(await entities.exist([low.id, high.id])).toEqual([false, false])
    await entities.insert([high, newEntity(1_002)], { epoch })
    expect(await entities.exist([high.id])).toEqual([true])
  })

  test('a count returns the time of the oldest tombstone', async () => {
    const { entities } = bench.shard
    const all = await entities.count()
    const tombstones = (await entities.pageByAdded(0, 1_000)).filter(({ body }) => body === null)
    expect(all.oldestTombstone).toBe(Math.min(...tombstones.map(({ updated }) => updated)))
  })
}
