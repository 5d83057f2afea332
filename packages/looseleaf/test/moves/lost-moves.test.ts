import { LooseleafError } from '@looseleaf/core'
import { withoutRanges, type ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes } from '@looseleaf/index-engine/internal'
import { emptySources, moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { loadOwn, shardAt } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, rowsAt } from './stores.ts'

test('a move whose target has lost its buckets stops no later move from emptying its source', async () => {
  const memory = await memoryShards(3).connect()
  let isStopped = true
  const watched = faultyDriver(memory, ({ shard, operation, args: [catalog] }) => {
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    if (!isStopped || shard !== 0 || !serves?.away?.some(({ emptied }) => emptied !== undefined))
      return undefined
    return {
      before() {
        throw new LooseleafError('SHARD_DENIED', 'The server denies it (a fault on purpose).')
      },
    }
  })
  const store = await filledStore(watched, 100, leapingTime())
  const plans = [
    { from: 0, to: 1, buckets: '0-99' },
    { from: 0, to: 2, buckets: '100-499' },
  ]
  for (const plan of plans)
    await expect(moveBuckets(store, plan)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  isStopped = false
  expect(await rowsAt(store, 0, '100-499')).toBeGreaterThan(0)
  const { catalog, serves } = await loadOwn(store.context, 1, {})
  const lost = { ...serves, owns: withoutRanges(serves.owns, '0-99'), arrived: undefined }
  await changeServes(shardAt(store.context, 1), catalog, lost)

  await expect(emptySources(store.context, {})).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(' are on no shard: shard 0 gave them up in move 1') as string,
  })
  expect(await rowsAt(store, 0, '100-499')).toBe(0)
  expect(await rowsAt(store, 0, '0-99')).toBeGreaterThan(0)
  expect(await movesOf(store)).toMatchObject([{ buckets: '0-99' }])
})
