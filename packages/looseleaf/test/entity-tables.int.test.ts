import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { test } from 'vitest'
import { mysqlShards } from '../src/index.ts'
import { checkLateRecord, checkOtherTable, type ShardsWith } from './entity-tables-scenario.ts'

async function freshServers(): Promise<ShardsWith> {
  const { urls } = await freshShards(2)
  return (entityTable) => mysqlShards(urls, { entityTable })
}

test('a process with another table of entities is refused on a server, and creates no table', async () =>
  checkOtherTable(await freshServers()))

test('a store on servers gets its record of the table of entities by the next migrate', async () =>
  checkLateRecord(await freshServers()))
