import { createServer, type AddressInfo, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { freePort } from '@looseleaf-tooling/mariadb'
import { createServer as createMysqlServer } from 'mysql2'
import { describe, expect, test } from 'vitest'
import { mysqlShards, type MysqlShardsOptions } from './mysql-shards.ts'

const url = 'mysql://u:secret@127.0.0.1:3306/feed'

describe('options', () => {
  test('an invalid option is rejected by its name', () => {
    for (const [options, message] of [
      [{ poolSize: 0 }, /poolSize.*from 1 to 1000; got 0\./],
      [{ deadlineMs: '5' }, /deadlineMs.*a string/],
      [{ lockWaitSeconds: 0.5 }, /lockWaitSeconds/],
      [{ entityTable: 'a`b' }, /entityTable/],
      [{ entityTable: 'looseleaf_tasks' }, /entityTable/],
      [{ poolsize: 5 }, /no option "poolsize"; there are poolSize/],
      [{ tls: 1 }, /tls that is a number/],
      [[], /options as an object; got an array/],
    ] as const) {
      expect(() => mysqlShards([url], options as MysqlShardsOptions)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
      )
    }
  })

  test('an empty list of shards, and a database that occurs twice, are rejected', () => {
    expect(() => mysqlShards([])).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(() => mysqlShards([url, 'mysql://other@127.0.0.1/feed'])).toThrow(
      /MySQL shard 1 is the same database as MySQL shard 0/,
    )
    expect(() => mysqlShards(['mysql://db.example/feed', 'mysql://DB.example/feed'])).toThrow(
      /MySQL shard 1 is the same database as MySQL shard 0/,
    )
    expect(mysqlShards(['mysql://db.example/feed', 'mysql://db.example/Feed']).shardCount).toBe(2)
  })

  test('a shard may have replicas, and an error names the replica', () => {
    const shards = [
      { primary: url, replicas: ['mysql://db-2.example/feed', { host: 'db-3', database: 'feed' }] },
    ]
    expect(mysqlShards(shards).shardCount).toBe(1)
    for (const [shard, message] of [
      [
        { primary: url, replicas: [url] },
        /^Replica 0 of MySQL shard 0 is the same database as MySQL shard 0;/,
      ],
      [{ primary: url, replicas: ['mysql://h'] }, /^Replica 0 of MySQL shard 0 has to name one database/],
      [{ primary: 7, replicas: [] }, /^The primary of MySQL shard 0 has to be a URL/],
      [{ replicas: [url] }, /^MySQL shard 0 has replicas and no primary/],
      [{ primary: url, replicas: url }, /^MySQL shard 0 has to have replicas that are a list; got a string/],
      [
        { primary: url, replicas: [], weight: 1 },
        /^MySQL shard 0 has no option "weight"; there are primary, replicas/,
      ],
    ] as const)
      expect(() => mysqlShards([shard as never])).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
      )
  })

  test('mysqlShards connects to nothing, and its result does not show the password', () => {
    const factory = mysqlShards([url])
    expect(factory.shardCount).toBe(1)
    expect(inspect(factory, { depth: 9, showHidden: true })).not.toMatch(/secret/)
  })
})

describe('a server that cannot be used', () => {
  test('a server that does not listen is SHARD_UNAVAILABLE', async () => {
    const port = await freePort()
    await expect(mysqlShards([`mysql://u:secret@127.0.0.1:${port}/feed`]).connect()).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: true,
      shard: `127.0.0.1:${port}/feed`,
      message: expect.stringMatching(/ECONNREFUSED/),
    })
  })

  test('a server that never answers is SHARD_UNAVAILABLE', async () => {
    const sockets: Socket[] = []
    const server = createServer((socket) => sockets.push(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const factory = mysqlShards([`mysql://127.0.0.1:${port}/feed`], { connectTimeoutMs: 50 })
    await expect(factory.connect()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  test('a server that rejects the session settings is STATEMENT_FAILED', async () => {
    const statements: string[] = []
    const server = createMysqlServer((connection) => {
      connection.serverHandshake({
        protocolVersion: 10,
        serverVersion: '8.4.0',
        connectionId: 1,
        statusFlags: 2,
        characterSet: 45,
        // All capabilities but compression and TLS.
        capabilityFlags: 0xff_ff_ff & ~0x20 & ~0x800,
        authCallback(_: unknown, done: (error: null) => void) {
          done(null)
          // Each command restarts the numbers of its packets.
          Object.assign(connection, { sequenceId: 0 })
        },
      })
      // Once a test listens to queries, mysql2 reads SET as the beginning of a prepared statement.
      connection.on('query', () => {})
      connection.on('stmt_prepare', (statement: string) => {
        statements.push(statement)
        connection.writeError({ message: 'no', code: 1193 })
      })
      connection.on('error', () => {})
    })
    const port = await freePort()
    server.listen(port)
    await expect(mysqlShards([`mysql://127.0.0.1:${port}/feed`]).connect()).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
    })
    expect(statements).toEqual([expect.stringMatching(/^SET SESSION sql_mode = 'STRICT_ALL_TABLES/)])
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
})
