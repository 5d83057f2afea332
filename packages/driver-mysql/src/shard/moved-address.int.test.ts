import { startServers } from '@looseleaf-tooling/mariadb'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { expect, test } from 'vitest'
import { cleanUp, epoch, newEntity } from '../../test/bench.ts'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import { mysqlShards } from '../mysql-shards.ts'

test('a process follows its address to another server after one refused write, although the old server keeps its connections', async () => {
  const servers = await startServers(2, { database: 'feed', inMemory: true })
  cleanUp(() => servers.stop())
  const [old, promoted] = servers.urls as [string, string]
  for (const url of servers.urls) {
    const admin = await mysqlShards([url]).connect()
    await initShard(admin.shards[0]!)
    await admin.close()
    // The user of the tests may write to a read-only server.
    await sendStatement(url, "CREATE USER app@'%' IDENTIFIED BY 'app'")
    await sendStatement(url, "GRANT ALL ON feed.* TO app@'%'")
  }
  const proxy = await startTcpProxy(Number(new URL(old).port))
  cleanUp(() => proxy.close())
  const driver = await mysqlShards([`mysql://app:app@127.0.0.1:${proxy.port}/feed`]).connect()
  cleanUp(() => driver.close())
  const { entities } = driver.shards[0]!
  const insert = async (): Promise<Uint8Array> => {
    const entity = newEntity()
    await entities.insert([entity], { epoch })
    return entity.id
  }
  const first = await insert()
  // Several connections.
  await Promise.all(Array.from({ length: 4 }, () => entities.read([first])))

  await sendStatement(old, 'SET GLOBAL read_only = ON')
  proxy.target = Number(new URL(promoted).port)
  await expect(insert()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })
  const second = await insert()
  const reads = await Promise.all(Array.from({ length: 4 }, () => entities.read([first, second])))
  for (const found of reads) expect(found.map((row) => row !== undefined)).toEqual([false, true])

  const observer = await createConnection(promoted)
  cleanUp(() => observer.end())
  const [rows] = await observer.query<RowDataPacket[]>('SELECT id FROM entities')
  expect(rows.map(({ id }) => id)).toEqual([second])
})
