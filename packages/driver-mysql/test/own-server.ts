import type { Shard } from '@looseleaf/core'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { startServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type Connection } from 'mysql2/promise'
import { afterAll } from 'vitest'
import { mysqlShards } from '../src/mysql-shards.ts'

/** Starts a server for one test file, so that no other test changes its counters. Returns its shard, and a connection that reads them. */
export async function startOwnServer(): Promise<{ readonly shard: Shard; readonly counter: Connection }> {
  const servers = await startServers(1, { database: 'feed', inMemory: true })
  afterAll(() => servers.stop())
  const [url] = servers.urls as [string]
  const counter = await createConnection(url)
  afterAll(() => counter.end())
  const driver = await mysqlShards([url]).connect()
  afterAll(() => driver.close())
  const shard = driver.shards[0]!
  await initShard(shard)
  return { shard, counter }
}
