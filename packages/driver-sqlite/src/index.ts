export { memoryShards } from './memory-shards.ts'
export { sqliteShards, type SqliteShardsOptions } from './sqlite-shards.ts'
