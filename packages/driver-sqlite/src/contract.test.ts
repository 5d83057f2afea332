import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { driverContract } from '@looseleaf/testkit'
import * as vitest from 'vitest'
import { memoryShards } from './memory-shards.ts'
import { sqliteShards } from './sqlite-shards.ts'

driverContract(
  vitest,
  'SQLite in memory',
  async () => ({ driver: await memoryShards().connect(), cleanUp: async () => {} }),
  { singleConnectionReason: 'a database in memory has one connection' },
)

driverContract(vitest, 'SQLite files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-sqlite-'))
  const factory = sqliteShards({ folder, shards: 2 })
  return {
    driver: await factory.connect(),
    connectAgain: () => factory.connect(),
    cleanUp: () => rm(folder, { recursive: true }),
  }
})
