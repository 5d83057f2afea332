export { evenBuckets, rebalanceBuckets, type BucketMap } from './bucket-map.ts'
export { bucketOfId, BUCKETS } from './bucket-of-id.ts'
export { bucketRouter, type BucketRouterOptions } from './bucket-router.ts'
export { moduloRouter, type ModuloRouterOptions } from './modulo-router.ts'
