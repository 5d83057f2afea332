import { startServers } from '@looseleaf-tooling/mariadb'
import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import type { Shard } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cleanUp, describeTuned, epoch, newEntity } from '../../test/bench.ts'
import { startTcpProxy } from '../../test/tcp-proxy.ts'
import { until } from '../../test/until.ts'
import { mysqlShards } from '../mysql-shards.ts'

/** Starts two servers with the tables of a shard. */
async function startPair(): Promise<[old: string, promoted: string]> {
  const servers = await startServers(2, { database: 'feed', inMemory: true })
  cleanUp(() => servers.stop())
  for (const url of servers.urls) {
    const admin = await mysqlShards([url]).connect()
    await initShard(admin.shards[0]!)
    await admin.close()
    // The user of the tests may write to a read-only server.
    await sendStatement(url, "CREATE USER app@'%' IDENTIFIED BY 'app'")
    await sendStatement(url, "GRANT ALL ON feed.* TO app@'%'")
  }
  return servers.urls as [string, string]
}

/** Connects to the old server by an address that can be moved. */
async function connectTo(old: string) {
  const proxy = await startTcpProxy(Number(new URL(old).port))
  cleanUp(() => proxy.close())
  const url = `mysql://app:app@127.0.0.1:${proxy.port}/feed`
  const driver = await describeTuned([url], { readOnlyMs: 0 }).connect()
  cleanUp(() => driver.close())
  const [shard] = driver.shards as [Shard]
  return {
    entities: shard.entities,
    async failOver(promoted: string) {
      await sendStatement(old, 'SET GLOBAL read_only = ON')
      proxy.target = Number(new URL(promoted).port)
    },
  }
}

async function insertInto({ entities }: Pick<Shard, 'entities'>): Promise<Uint8Array> {
  const entity = newEntity()
  await entities.insert([entity], { epoch })
  return entity.id
}

test('a process follows its address to another server after one refused write, although the old server keeps its connections', async () => {
  const [old, promoted] = await startPair()
  const moved = await connectTo(old)
  const { entities } = moved
  const first = await insertInto(moved)
  // Several connections.
  await Promise.all(Array.from({ length: 4 }, () => entities.read([first])))

  await moved.failOver(promoted)
  await expect(insertInto(moved)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })
  const second = await insertInto(moved)
  const reads = await Promise.all(Array.from({ length: 4 }, () => entities.read([first, second])))
  for (const found of reads) expect(found.map((row) => row !== undefined)).toEqual([false, true])

  const observer = await createConnection(promoted)
  cleanUp(() => observer.end())
  const [rows] = await observer.query<RowDataPacket[]>('SELECT id FROM entities')
  expect(rows.map(({ id }) => id)).toEqual([second])
})

test('a process that only reads follows its address to another server too', async () => {
  const [old, promoted] = await startPair()
  const moved = await connectTo(old)
  const other = await mysqlShards([promoted]).connect()
  cleanUp(() => other.close())
  const id = await insertInto(other.shards[0]!)
  expect(await moved.entities.read([id])).toEqual([undefined])
  await moved.failOver(promoted)
  expect(await until(async () => (await moved.entities.read([id]))[0])).toMatchObject({ version: 1 })
})

test('a replica, which is read-only, keeps its connection', async () => {
  const [primary, url] = await startPair()
  await sendStatement(url, 'SET GLOBAL read_only = ON')
  const driver = await describeTuned([{ primary, replicas: [url] }], { readOnlyMs: 0 }).connect()
  cleanUp(() => driver.close())
  const replica = driver.shards[0]!.replicas![0]!
  let ahead = 0
  vi.spyOn(platformTime, 'elapsed').mockImplementation(() => performance.now() + ahead)
  onTestFinished(() => void vi.restoreAllMocks())
  for (; ahead < 8_000; ahead += 2_000) await replica.entities.count()
  expect(replica.connections!()).toMatchObject({ opened: 1 })
})
