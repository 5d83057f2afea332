import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { sharedByShard } from './shared-by-shard.ts'

const context = {} as EngineContext

test('calls of one shard share a round that begins after them', async () => {
  const begun: number[] = []
  const share = sharedByShard(async (_, shard) => {
    begun.push(shard)
    await Promise.resolve()
  })
  await Promise.all([share(context, 1), share(context, 1), share(context, 1), share(context, 2)])
  expect(begun.toSorted()).toEqual([1, 1, 2])
  await Promise.all([share({ ...context }, 1), share(context, 1)])
  expect(begun).toHaveLength(5)
})

test('a signal ends the wait of its own call only', async () => {
  const work = Promise.withResolvers<void>()
  const share = sharedByShard(() => work.promise)
  const controller = new AbortController()
  const aborted = share(context, 1, { signal: controller.signal })
  const other = share(context, 2)
  controller.abort()
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' })
  work.resolve()
  expect(await other).toBeUndefined()
})
