import { initShard } from '@looseleaf-tooling/kit/catalogs'
import { findServer, startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cleanUp, epoch, newEntity, type OpenShard } from '../../test/bench.ts'
import { mysqlShards } from '../mysql-shards.ts'

// The test starts its own server, whose settings it changes.
let servers: RunningServers
beforeAll(async () => {
  servers = await startServers(1, {
    database: 'feed',
    inMemory: true,
    serverArguments: ['--log-bin=binlog', '--server-id=1'],
  })
})
afterAll(() => servers?.stop())

async function setGlobal(assignment: string): Promise<void> {
  const admin = await createConnection(servers.urls[0] as string)
  await admin.query(`SET GLOBAL ${assignment}`).finally(() => admin.end())
}

async function open(): Promise<OpenShard['shard']> {
  const driver = await mysqlShards(servers.urls).connect()
  cleanUp(() => driver.close())
  return driver.shards[0] as OpenShard['shard']
}

test('binlog_format = STATEMENT has a warning, and a write that it rejects was not done', async () => {
  const shard = await open()
  await initShard(shard)
  await setGlobal("binlog_format = 'STATEMENT'")
  const restricted = await open()
  expect(await restricted.warnings()).toContainEqual(expect.stringMatching(/^binlog_format is STATEMENT/))
  const entity = newEntity()
  await expect(restricted.entities.insert([entity], { epoch })).rejects.toMatchObject({
    code: 'STATEMENT_FAILED',
    retryable: false,
    unknownOutcome: false,
    message: expect.stringMatching(/binlog_format is STATEMENT.*ROW or MIXED/),
  })
  expect(await shard.entities.readVersions([entity.id])).toEqual([undefined])
  await setGlobal("binlog_format = 'MIXED'")
  const mixed = await open()
  await mixed.entities.insert([entity], { epoch })
  expect((await mixed.warnings()).filter((warning) => /binlog_format/.test(warning))).toEqual([])
})

test('max_join_size rejects no statement', async () => {
  const shard = await open()
  const entities = Array.from({ length: 20 }, newEntity)
  await shard.entities.insert(entities, { epoch })
  await setGlobal('max_join_size = 2')
  cleanUp(() => setGlobal('max_join_size = DEFAULT'))
  const bounded = await open()
  expect(await bounded.entities.pageByUpdated({ since: 0 }, 20)).toHaveLength(20)
  expect(await bounded.entities.read(entities.map(({ id }) => id))).not.toContain(undefined)
})

test('sql_safe_updates rejects no statement', async () => {
  const entities = Array.from({ length: 3 }, newEntity)
  await (await open()).entities.insert(entities, { epoch })
  await setGlobal('sql_safe_updates = ON')
  cleanUp(() => setGlobal('sql_safe_updates = OFF'))
  const safe = await open()
  const swaps = entities.map((entity) => ({ ...entity, base: entity.version, version: entity.version + 1 }))
  expect(await safe.entities.replace(swaps, { epoch })).toEqual([true, true, true])
  await safe.entities.raiseFloor()
})

test('a server that begins transactions as read-only has a warning and an error with the remedy, which needs no restart', async () => {
  const name = findServer()?.flavor === 'mysql' ? 'transaction_read_only' : 'tx_read_only'
  await setGlobal(`${name} = ON`)
  cleanUp(() => setGlobal(`${name} = OFF`))
  const shard = await open()
  expect(await shard.warnings()).toContainEqual(expect.stringMatching(`^${name} is on`))
  const entity = newEntity()
  for (const write of [() => shard.createTables(), () => shard.entities.insert([entity], { epoch })]) {
    await expect(write()).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      message: expect.stringMatching(
        `^${shard.name}: the server begins every transaction as .*${name}.*Set it to OFF`,
      ),
    })
  }
  await setGlobal(`${name} = OFF`)
  // The connection of the last refused write may stay, since the pool has left its connections just before.
  await vi.waitFor(() => shard.entities.insert([entity], { epoch }), 10_000)
  expect(await shard.entities.readVersions([entity.id])).toEqual([entity.version])
})

test.skipIf(findServer()?.flavor === 'mysql')(
  'an enforced engine has a warning, and its error differs from that of a replica (MariaDB only)',
  async () => {
    await setGlobal("enforce_storage_engine = 'Aria'")
    const shard = await open()
    expect(await shard.warnings()).toContainEqual(expect.stringMatching(/^enforce_storage_engine is Aria/))
    const spec = { table: 'index_enforced', columns: [{ name: 'n', type: 'integer' }] } as const
    await expect(shard.createIndexTable(spec)).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      retryable: false,
      message: expect.stringContaining('enforce_storage_engine'),
    })
    await setGlobal('enforce_storage_engine = NULL')
  },
)
