import { cleanIndex, DataStore, mysqlShards } from 'looseleaf'
import type { FillerConfig } from './load-types.ts'
import { addedIndexes, postsByUser } from './posts.ts'

/** Adds the indexes and fills them. The parent may kill this process; a later one resumes the filling. */
const { urls, leaseMs } = JSON.parse(process.argv[2] ?? '') as FillerConfig
const store = await DataStore.open({
  shards: mysqlShards(urls),
  indexes: [postsByUser],
  onWarning: () => undefined,
})
for (const index of addedIndexes) await store.addIndex(index)
const result = await cleanIndex(
  store,
  addedIndexes.map(({ name }) => name),
  { leaseMs, onProgress: ({ phase, shard, done, total }) => process.send?.({ phase, shard, done, total }) },
)
await store.close()
process.send?.({ result }, () => process.disconnect())
