import { defineIndex } from '@looseleaf/index-engine'
import { keepOpen } from '@looseleaf/testkit'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

test('the catalog of a store without moves is stored as the same text as before there were moves', async () => {
  const reference = createReferenceDriver({ shards: 2, now: () => 1_000 })
  const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
  const store = await DataStore.open({ shards: keepOpen(reference), indexes: [byName], migrate: true })
  await store.setPolicies({ deleteDelayMs: 5 })
  const { storeId } = store.context.catalog.current()
  for (const [number, shard] of reference.shards.entries()) {
    const { epoch, ...stored } = shard.contents()!
    expect(epoch).toBe(1_000)
    expect(JSON.stringify(stored)).toBe(
      [
        `{"format":1,"storeId":"${storeId}","shardNumber":${number},"shardCount":2`,
        '"router":"buckets-1 shards=2 map=7acb6ce2322d7c3f","requires":[{"name":"delete-delay","since":"0.1.0"}]',
        '"layout":{"revision":0,"scheme":"buckets-1","shards":[{"name":"reference shard 0","buckets":"0-2047"}',
        '{"name":"reference shard 1","buckets":"2048-4095"}]},"indexes":[{"name":"by_name"',
        '"properties":[{"name":"name","type":"string","many":false}],"shardOn":"name","onMisfit":"refuse"',
        '"generation":1,"table":"index_by_name","state":"ready"}],"deleteDelayMs":5,"queryTimeMs":5000}',
      ].join(),
    )
  }
  await store.close()
})
