/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export type { MysqlTlsOptions } from './connection/shard-address.ts'
export type { ReplicatedMysqlShard } from './connection/shard-servers.ts'
