import type { Shard } from '@looseleaf/core'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mysqlShards } from '../mysql-shards.ts'

let servers: RunningServers
let socketPath: string

// The test starts its own server: the socket of a given one may be on another machine.
beforeAll(async () => {
  servers = await startServers(1, { database: 'feed', inMemory: true })
  const admin = await createConnection(servers.urls[0] as string)
  const [rows] = await admin.query<RowDataPacket[]>('SELECT @@socket AS path')
  socketPath = String(rows[0]?.['path'])
  await admin.query("CREATE USER 'newcomer'@'localhost' IDENTIFIED BY 'a password'")
  await admin.query("GRANT SELECT ON feed.* TO 'newcomer'@'localhost'")
  await admin.end()
})

afterAll(() => servers?.stop())

test('a user connects over a Unix socket without an earlier connection', async () => {
  const driver = await mysqlShards([
    { socketPath, user: 'newcomer', password: 'a password', database: 'feed' },
  ]).connect()
  expect(await (driver.shards[0] as Shard).now()).toBeGreaterThan(0)
  await driver.close()
})

test('a wrong password over a Unix socket is SHARD_DENIED', async () => {
  const shards = mysqlShards([{ socketPath, user: 'newcomer', password: 'another', database: 'feed' }])
  await expect(shards.connect()).rejects.toMatchObject({ code: 'SHARD_DENIED', retryable: false })
})
