export { mysqlShards, type MysqlShardsOptions } from './mysql-shards.ts'
export type { MysqlShardOptions } from './connection/shard-address.ts'
