import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from '@looseleaf/core'
import { findServer } from '@looseleaf-tooling/mariadb'
import { openStore } from '../../lab/open-store.ts'
import { startFaultProxy } from '../../lab/proxy/fault-proxy.ts'
import { startReplicaCluster } from '../../lab/replica-shard.ts'
import { holdsWithin } from '../../lab/until.ts'
import type { ReplicaStats } from '@looseleaf/store/internal'
import { describe, expect, onTestFinished, test } from 'vitest'

// External servers cannot be killed.
const lacks = findServer() === undefined
const BOUND_MS = 1_000
const ANY_AGE_MS = 60_000
const WITHIN_MS = 20_000

describe.skipIf(lacks)(
  `several replicas${lacks ? ' (left out: needs the program mariadbd or mysqld)' : ''}`,
  () => {
    test(
      'of two replicas of a shard, only fresh enough ones answer while they lag, die and are promoted',
      { timeout: 120_000 },
      async () => {
        const cluster = await startReplicaCluster({
          mode: 'semi-sync',
          shards: 1,
          replicated: [0],
          replicas: 2,
        })
        onTestFinished(() => cluster.stop())
        const shard = cluster.shards[0]!
        const { urls } = await cluster.createDatabase()
        // A restarted or replaced server has another port.
        const port = (place: number): number => Number(shard.replica(place).url.port)
        const proxies = await Promise.all([0, 1].map((place) => startFaultProxy(port(place))))
        onTestFinished(() => Promise.all(proxies.map((proxy) => proxy.close())).then(() => undefined))
        const follow = (): void => proxies.forEach((proxy, place) => proxy.setTarget(port(place)))
        const replicas = proxies.map((proxy) => {
          const url = new URL(urls[0]!)
          url.port = String(proxy.port)
          return url.href
        })
        const migrated = await openStore(urls, { migrate: true })
        await migrated.close()
        const connections = { deadlineMs: 3_000, connectTimeoutMs: 3_000 }
        const store = await openStore([{ primary: urls[0]!, replicas }], { connections })
        const id = store.newId()

        /** Acknowledged writes, numbered by `n`. */
        const writes: { readonly n: number; readonly at: number; readonly token: string }[] = []
        const wrongs: string[] = []
        const reads = { within: 0, after: 0 }
        let isOver = false
        /** Returns the last write acknowledged before a time. */
        const lastAt = (at: number): number => writes.findLast((write) => write.at < at)?.n ?? 0
        const attempt = async (work: () => Promise<void>): Promise<void> => {
          while (!isOver) {
            try {
              await work()
            } catch (error) {
              if (!isLooseleafError(error)) throw error
            }
            await sleep(5)
          }
        }
        const read = async (
          options: { maxStalenessMs: number; after?: string },
          least: number,
        ): Promise<void> => {
          const n = Number((await store.get(id, { from: 'replica', ...options }))?.['n'] ?? 0)
          if (n < least)
            wrongs.push(`${n} was read, ${least} or later was to be, by ${JSON.stringify(options)}`)
        }
        let n = 0
        const work = [
          attempt(async () => {
            const { token } = await store.put({ n: ++n }, { id })
            writes.push({ n, at: performance.now(), token })
          }),
          attempt(async () => {
            await read({ maxStalenessMs: BOUND_MS }, lastAt(performance.now() - BOUND_MS))
            reads.within++
          }),
          attempt(async () => {
            const last = writes.at(-1)
            if (last === undefined) return
            await read({ maxStalenessMs: ANY_AGE_MS, after: last.token }, last.n)
            reads.after++
          }),
        ]
        onTestFinished(async () => {
          isOver = true
          await Promise.all(work)
          await store.close()
        })

        const replica = (place: number): ReplicaStats => store.stats().shards[0]!.replicas[place]!
        const sentTo = (place: number): number =>
          replica(place).lanes.reduce((sum, { items }) => sum + items, 0)
        /** Tells whether any read goes to this replica. */
        const isRead = async (place: number): Promise<boolean> => {
          const before = sentTo(place)
          return holdsWithin(WITHIN_MS, async () => sentTo(place) > before)
        }
        const isFresh = (place: number): Promise<boolean> =>
          holdsWithin(WITHIN_MS, async () => (replica(place).ageMs ?? Infinity) < BOUND_MS)

        expect([await isRead(0), await isRead(1)]).toEqual([true, true])

        await shard.stopReplaying(0)
        const isOld = holdsWithin(WITHIN_MS, async () => (replica(0).ageMs ?? 0) > 2 * BOUND_MS)
        expect(await isOld).toBe(true)
        const sent = sentTo(0)
        expect(await isRead(1)).toBe(true)
        expect([sentTo(0), replica(0).exclusionReason]).toEqual([sent, undefined])
        // Reads with a wider bound still use it.
        const isReadOld = holdsWithin(WITHIN_MS, async () => {
          await read({ maxStalenessMs: ANY_AGE_MS }, 1)
          return sentTo(0) > sent
        })
        expect(await isReadOld).toBe(true)

        await shard.replica(1).kill()
        expect(await holdsWithin(WITHIN_MS, async () => replica(1).exclusionReason !== undefined)).toBe(true)
        expect(replica(1)).toMatchObject({ ageMs: undefined, exclusionReason: expect.stringMatching(/\S/) })
        const [within, old] = [reads.within, sentTo(0)]
        expect(await holdsWithin(WITHIN_MS, async () => reads.within > within + 10)).toBe(true)
        expect(sentTo(0)).toBe(old)

        await shard.replica(1).restart()
        follow()
        await shard.startReplaying(1)
        expect([await isFresh(1), await isRead(1)]).toEqual([true, true])

        // The other replica still lags.
        await shard.failOver({ place: 1, lagMs: 0, freeze: false })
        follow()
        const acknowledged = writes.length
        expect(await holdsWithin(WITHIN_MS, async () => writes.length > acknowledged)).toBe(true)
        for (const place of [0, 1]) expect([await isFresh(place), await isRead(place)]).toEqual([true, true])
        expect(wrongs).toEqual([])
        expect(Math.min(reads.within, reads.after)).toBeGreaterThan(50)
      },
    )
  },
)
