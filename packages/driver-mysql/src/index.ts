export { mysqlShards, type MysqlShardsOptions } from './mysql-shards.ts'
export type { MysqlShardOptions, MysqlTlsOptions } from './target.ts'
