import { routerContract } from '@looseleaf/testkit'
import * as vitest from 'vitest'
import { bucketRouter, evenBuckets, moduloRouter } from './index.ts'

routerContract(vitest, 'bucketRouter of one shard', () => bucketRouter({ shards: 1 }))
routerContract(vitest, 'bucketRouter of four shards', () => bucketRouter({ shards: 4 }))
routerContract(vitest, 'bucketRouter of a shard for each bucket', () => bucketRouter({ shards: 4096 }))
routerContract(vitest, 'bucketRouter with a map', () =>
  bucketRouter({ shards: 3, buckets: evenBuckets(2).map((shard, bucket) => (bucket % 3 === 2 ? 2 : shard)) }),
)
routerContract(vitest, 'bucketRouter with a function', () =>
  bucketRouter({ shards: 5, buckets: (bucket) => bucket % 5 }),
)
routerContract(vitest, 'moduloRouter of one shard', () => moduloRouter({ shards: 1 }))
routerContract(vitest, 'moduloRouter of four shards', () => moduloRouter({ shards: 4 }))
routerContract(vitest, 'moduloRouter of a large prime number of shards', () => moduloRouter({ shards: 4093 }))
