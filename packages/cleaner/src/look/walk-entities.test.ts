import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createPass } from '../pass/pass.ts'
import { entitiesOfShard } from './walk-entities.ts'

test('buckets that leave a shard after its last page stay unread', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, indexes: [] })
  const { context } = store
  await store.putMany(Array.from({ length: 20 }, (_, n) => ({ n })))
  const move = { id: 1, from: 0, to: 1, buckets: '0-9', phase: 'both' as const }
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, moves: [move] },
  }))
  await context.catalog.reload()
  const unread = new Set([0, 9, 10, 2047, 2048])
  const pages = entitiesOfShard(createPass(context), 0, unread)
  expect(await pages.next()).toMatchObject({ done: false })
  const [shard] = driver.shards
  const away = [{ move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }]
  await changeServes(shard!, (await loadShardCatalog(shard!))!, { owns: '10-2047', away })
  expect(await pages.next()).toMatchObject({ done: true })
  expect([...unread]).toEqual([0, 9, 2048])
})
