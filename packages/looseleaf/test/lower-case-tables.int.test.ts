import { findServer, startServers } from '@looseleaf-tooling/mariadb'
import { expect, onTestFinished, test } from 'vitest'
import { mysqlShards } from '../src/index.ts'
import { byName, open } from './entity-tables-scenario.ts'

test.skipIf(findServer()?.flavor === 'mysql')(
  'a store on a server that stores names of tables in lower case keeps the name of its entity table (MariaDB only)',
  async () => {
    const servers = await startServers(1, {
      database: 'feed',
      inMemory: true,
      serverArguments: ['--lower-case-table-names=1'],
    })
    onTestFinished(() => servers.stop())
    const shardsWith = (entityTable: string) => mysqlShards(servers.urls, { entityTable })
    const store = await open(shardsWith('Entities'), { migrate: true })
    const { id } = await store.put({ name: 'ada' })
    expect(await store.query(byName, { name: 'ada' })).toMatchObject({ items: [{ id }] })
    const [shard] = (await open(shardsWith('Entities'), { migrate: true })).context.driver.shards
    expect(await shard!.sizes!()).toMatchObject({ entities: expect.any(Number) as number })
    await expect(open(shardsWith('entities'), { migrate: true })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(/in the table Entities, but .* the table entities/) as string,
    })
  },
)
