import { memoryShards } from '@looseleaf/driver-sqlite'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

test.each([
  ['is sealing', 'both'],
  ['is switching', 'both'],
  ['is emptying', undefined],
] as const)('a repeated call ends a move that was interrupted while it %s', async (state, phase) => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 100))
  const stop = new AbortController()
  const stopped = await openStore(driver, leapingTime())
  const call = moveBuckets(stopped, PLAN, {
    signal: stop.signal,
    onProgress({ step, seals }) {
      if (state === `is ${step}` && seals.groups > 0) stop.abort()
    },
  })
  await expect(call).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await movesOf(stopped)).toMatchObject([{ id: 1 }])
  const { moves = [] } = (await loadShardCatalog(driver.shards[0]!))!.layout!
  expect(moves[0]?.phase).toBe(phase)

  const repeated = await openStore(driver, leapingTime())
  expect(await moveBuckets(repeated, { ...PLAN, buckets: '0-511,512-1023' })).toMatchObject({
    id: 1,
    state: 'done',
  })
  expect(await movesOf(repeated)).toEqual([])
  expect(await contentsOf(repeated)).toEqual(before)
  await checkQueries(repeated)
  await checkIndexes(repeated)
  await expect(moveBuckets(repeated, PLAN)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
