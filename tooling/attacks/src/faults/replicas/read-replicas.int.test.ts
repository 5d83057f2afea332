import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../lab/open-store.ts'
import { startReplicaCluster } from '../../lab/replica-shard.ts'
import { holdsWithin } from '../../lab/until.ts'
import { readReplicas, type ReplicaReport } from '@looseleaf/store/internal'
import { expect, onTestFinished, test } from 'vitest'

test('a caller learns how far a replica lags, and that it is gone', { timeout: 60_000 }, async () => {
  const cluster = await startReplicaCluster({ mode: 'asynchronous', shards: 1, replicated: [0] })
  onTestFinished(() => cluster.stop())
  const [shard] = cluster.shards
  const database = await cluster.createDatabase()
  const [primary] = database.adminUrls()
  const address = shard!.replica().url
  address.pathname = database.name
  const store = await openStore([{ primary: primary!, replicas: [address.href] }], { migrate: true })
  onTestFinished(() => store.close())
  const told = async (): Promise<ReplicaReport> => (await readReplicas(store.context))[0]!
  /** Raises the floor, as cleaners do. */
  const raise = () => store.context.driver.shards[0]!.entities.raiseFloor()

  await store.put({ n: 1 })
  await raise()
  expect(await holdsWithin(10_000, async () => (await told()).behindMs === 0)).toBe(true)
  await shard!.stopReplaying()
  await sleep(1_200)
  await store.put({ n: 2 })
  await raise()
  const behind = await told()
  expect(behind.exclusionReason).toBeUndefined()
  expect(behind.behindMs).toBeGreaterThan(1_000)
  expect(behind.behindMs).toBeLessThan(60_000)
  await shard!.startReplaying()
  expect(await holdsWithin(10_000, async () => (await told()).behindMs === 0)).toBe(true)
  await shard!.replica().kill()
  expect((await told()).exclusionReason).toMatch(/\S/)
})
