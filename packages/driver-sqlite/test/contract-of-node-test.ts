/** Runs the driver contract under Node's own runner: `node --test contract-of-node-test.ts`. */
import { after, before, describe, test } from 'node:test'
import { driverContract } from '@looseleaf/testkit'
import { memoryShards } from '../src/index.ts'

driverContract(
  { describe, test, beforeAll: before, afterAll: after },
  'SQLite in memory',
  async () => {
    const driver = await memoryShards(2).connect()
    return { driver, cleanUp: async () => {} }
  },
  { singleConnectionReason: 'a database in memory has one connection' },
)
