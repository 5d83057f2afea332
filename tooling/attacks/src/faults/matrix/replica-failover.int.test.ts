import { findServer } from '@looseleaf-tooling/mariadb'
import { openStore } from '../../lab/open-store.ts'
import { describe, expect, test } from 'vitest'
import { startReplicaCluster } from '../../lab/replica-shard.ts'

// External servers cannot be killed, so these tests need a server program.
const lacks = findServer() === undefined
const LIMIT_MS = 180_000

describe.skipIf(lacks)(`replicas${lacks ? ' (left out: needs the program mariadbd or mysqld)' : ''}`, () => {
  test(
    'ending a commit that no replica confirms does not acknowledge it',
    { timeout: LIMIT_MS },
    async () => {
      const cluster = await startReplicaCluster({ mode: 'semi-sync', shards: 1, replicated: [0] })
      try {
        const [shard] = cluster.shards
        const { urls } = await cluster.createDatabase()
        const patient = await openStore(urls, { migrate: true })
        const { id } = await patient.put({ confirmed: true })
        await patient.close()
        const store = await openStore(urls, { connections: { deadlineMs: 2_000 }, writeTimeoutMs: 5_000 })
        await shard!.cutReplica()
        const writing = store.put({ confirmed: false }, { id })
        await expect(writing).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
        expect((await shard!.semiSyncStatus()).unconfirmed).toBe(0)
        await store.close()
      } finally {
        await cluster.stop()
      }
    },
  )
})
