import { randomBytes } from 'node:crypto'
import { isLooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTcpProxy, type TcpProxy } from '../test/tcp-proxy.ts'
import { mysqlShards } from './mysql-shards.ts'

const { urls } = await freshShards(1)
const epoch = 1
let proxy: TcpProxy
let driver: Driver
let shard: Shard

beforeEach(async () => {
  const through = new URL(urls[0] as string)
  proxy = await startTcpProxy(Number(through.port))
  through.port = String(proxy.port)
  driver = await mysqlShards([through.href]).connect()
  shard = driver.shards[0] as Shard
  await shard.createTables()
  await shard.catalog.init({ epoch, storeId: 's', shardNumber: 0, shardCount: 1, router: 'r', indexes: [] })
})

afterEach(async () => {
  await driver.close()
  await proxy.close()
})

test('a swap that won in part, and cannot read which, has an unknown outcome', async () => {
  const [a, b] = [randomBytes(16), randomBytes(16)]
  await shard.entities.insert(
    [a, b].map((id) => ({ id, version: 1, body: id })),
    { epoch },
  )
  proxy.rewrite = (bytes) => {
    if (!bytes.includes('SELECT id, version FROM')) return bytes
    proxy.rewrite = (later) => later
    proxy.cut()
    return Buffer.alloc(0)
  }
  const swap = shard.entities.replace(
    [
      { id: a, base: 1, version: 5, body: a },
      { id: b, base: 4, version: 6, body: b },
    ],
    { epoch },
  )
  await expect(swap).rejects.toSatisfy(
    (error) => isLooseleafError(error, 'OUTCOME_UNKNOWN') && error.unknownOutcome,
  )
  // It did take place: to call it a failure would have been a lie.
  expect(await shard.entities.readVersions([a, b])).toEqual([5, 1])
})
