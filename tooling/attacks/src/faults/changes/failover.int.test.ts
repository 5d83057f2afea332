import { setTimeout as sleep } from 'node:timers/promises'
import { consume } from '@looseleaf/changes'
import { isLooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { openStore } from '../../lab/open-store.ts'
import { startReplicaCluster } from '../../lab/replica-shard.ts'
import { holdsWithin } from '../../lab/until.ts'
import { findServer } from '@looseleaf-tooling/mariadb'
import { describe, expect, onTestFinished, test } from 'vitest'

// An external server cannot be killed, so this test needs a server program.
const lacks = findServer() === undefined

const HOUR_MS = 3_600_000

describe.skipIf(lacks)(`changes${lacks ? ' (left out: needs the program mariadbd or mysqld)' : ''}`, () => {
  test(
    'a failover that loses the last commits loses only their changes, and clocks that are an hour off lose none',
    { timeout: 60_000 },
    async () => {
      const cluster = await startReplicaCluster({ mode: 'asynchronous', shards: 1, replicated: [0] })
      onTestFinished(() => cluster.stop())
      const [shard] = cluster.shards
      const database = await cluster.createDatabase()
      const store = await openStore(database.urls, {
        migrate: true,
        connections: { deadlineMs: 3_000, connectTimeoutMs: 1_000 },
      })
      const ids = Array.from({ length: 20 }, () => store.newId())
      /** The last version of each entity that each of the two received. */
      const [consumed, followed] = [new Map<EntityId, number>(), new Map<EntityId, number>()]
      const consumer = consume(store, 'all', ({ id, version }) => void consumed.set(id, version), {
        from: 'beginning',
        pollMs: 50,
      })
      const end = new AbortController()
      const { signal } = end
      const following = (async (): Promise<void> => {
        for await (const { id, version } of store.changes({ from: 'beginning', pollMs: 50, signal }))
          followed.set(id, version)
      })().catch((error: unknown) => {
        if (!isLooseleafError(error, 'ABORTED')) throw error
      })
      onTestFinished(async () => {
        end.abort()
        await following
        await consumer.stop()
        await store.close()
      })

      const { entities } = store.context.driver.shards[0]!
      const stored = async (): Promise<ReadonlyMap<EntityId, number>> => {
        const versions = await entities.readVersions(ids.map(parseId))
        return new Map(ids.map((id, i) => [id, versions[i] ?? 0]))
      }
      const writeAll = (by = store) => Promise.all(ids.map((id) => by.put({ at: Date.now() }, { id })))
      /** Tells whether both have the last state of every entity. */
      const isCurrent = async (): Promise<boolean> => {
        const now = await stored()
        return [consumed, followed].every((seen) => ids.every((id) => seen.get(id) === now.get(id)))
      }

      await writeAll()
      expect(await holdsWithin(10_000, isCurrent)).toBe(true)
      let isGone = false
      const failingOver = shard!.failOver({
        lagMs: 1_000,
        freeze: false,
        beforeOpening: async () => void (isGone = true),
      })
      // Loses acknowledged changes that were already delivered. Writes one at a time, so that a write in
      // flight at the end goes to the promoted server.
      for (let n = 0; !isGone; n++) {
        await store.put({ n }, { id: ids[n % ids.length]! }).catch((error: unknown) => {
          if (!isLooseleafError(error)) throw error
        })
        await sleep(5)
      }
      await failingOver
      const answers = () =>
        stored().then(
          () => true,
          () => false,
        )
      expect(await holdsWithin(10_000, answers)).toBe(true)
      const after = await stored()
      expect(ids.filter((id) => (consumed.get(id) ?? 0) > (after.get(id) ?? 0)).length).toBeGreaterThan(0)
      await writeAll()
      expect(await holdsWithin(10_000, isCurrent)).toBe(true)

      // Simulates a failover to a server whose clock is behind.
      await shard!.admin(`UPDATE ${database.name}.looseleaf_meta SET floor = floor + INTERVAL 1 HOUR`)
      const others = await Promise.all(
        [-HOUR_MS, HOUR_MS].map((clockOffsetMs) => openStore(database.urls, { clockOffsetMs })),
      )
      onTestFinished(async () => {
        await Promise.all(others.map((other) => other.close()))
      })
      for (const writer of [store, ...others, store]) {
        await writeAll(writer)
        expect(await holdsWithin(10_000, isCurrent)).toBe(true)
      }
    },
  )
})
