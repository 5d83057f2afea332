import { routerContract } from '@looseleaf/testkit'
import { bucketRouter, evenBuckets, moduloRouter, rebalanceBuckets } from './index.ts'

routerContract('bucketRouter of one shard', () => bucketRouter({ shards: 1 }))
routerContract('bucketRouter of four shards', () => bucketRouter({ shards: 4 }))
routerContract('bucketRouter of a shard for each bucket', () => bucketRouter({ shards: 4096 }))
routerContract('bucketRouter with a map', () =>
  bucketRouter({ shards: 3, buckets: rebalanceBuckets(evenBuckets(2), 3) }),
)
routerContract('bucketRouter with a function', () =>
  bucketRouter({ shards: 5, buckets: (bucket) => bucket % 5 }),
)
routerContract('moduloRouter of one shard', () => moduloRouter({ shards: 1 }))
routerContract('moduloRouter of four shards', () => moduloRouter({ shards: 4 }))
routerContract('moduloRouter of a large prime number of shards', () => moduloRouter({ shards: 4093 }))
