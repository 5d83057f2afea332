export { mysqlShards, type MysqlShardsOptions } from './mysql-shards.ts'
export type { MysqlShardOptions, MysqlTlsOptions } from './connection/shard-address.ts'
export type { ReplicatedMysqlShard } from './connection/shard-servers.ts'
