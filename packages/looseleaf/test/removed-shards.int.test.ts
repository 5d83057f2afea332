import { setTimeout as pause } from 'node:timers/promises'
import { startCleaner } from '@looseleaf/cleaner'
import { isLooseleafError } from '@looseleaf/core'
import { bucketsIn } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { moveBuckets } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { startServers } from '@looseleaf-tooling/mariadb'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const byRank = defineIndex('by_rank', { properties: { n: 'integer' }, shardOn: 'id' })
const indexes = [byUser, byRank]

test('a server is switched off after its shard was removed, and no call of another process fails', async () => {
  const old = await startServers(1, { database: 'feed' })
  const { urls } = await freshShards(2)
  const all = [...old.urls, ...urls]
  const addressOf = (url: string): string => `${new URL(url).host}${new URL(url).pathname}`
  const connection = (address: string): string => all.find((url) => addressOf(url) === address)!
  const open = (shards: readonly string[], time?: ReturnType<typeof leapingTime>): Promise<DataStore> =>
    DataStore.open({
      shards: mysqlShards(shards, { connection, deadlineMs: 30_000 }),
      indexes,
      migrate: true,
      queryTimeMs: 2_000,
      time,
      onWarning: () => {},
    })
  await using writer = await open(all)
  const sleeper = await open(all)
  const errors: unknown[] = []
  await using cleaner = startCleaner(writer, { onError: (error) => errors.push(error) })
  const ended = new AbortController()
  const seen = new Set<string>()
  const follow = async (): Promise<void> => {
    const options = { from: 'beginning', pollMs: 20, signal: ended.signal } as const
    const onRetry = (error: unknown): void => void errors.push(error)
    try {
      for await (const { id } of writer.changes({ ...options, onRetry })) seen.add(id)
    } catch (error) {
      // The clock of the move leaps over the time that the source keeps its rows, so a follower on a busy machine may be late.
      if (isLooseleafError(error, 'CHANGES_GONE')) return follow()
      errors.push(error)
    }
  }
  const following = follow()
  const ids: Awaited<ReturnType<DataStore['newId']>>[] = []
  const writing = (async () => {
    for (let n = 0; !ended.signal.aborted; n++) {
      const { id } = await writer.put({ user: `user ${n % 7}`, n })
      ids.push(id)
      if (n % 5 === 0) await writer.update(ids[n >> 1]!, (bag) => ({ ...bag, user: 'again' }))
      expect(await writer.get(ids[n >> 2]!)).toBeDefined()
      const { items } = await writer.query(byRank, {}, { scatter: true, limit: 1 })
      expect(items).toHaveLength(1)
      // Leaves time to the move, which shares the process.
      await pause(5)
    }
  })().catch((error: unknown) => errors.push(error))

  await using mover = await open(all, leapingTime())
  const buckets = bucketsIn(mover.context.catalog.current().layout!.shards[0]!.buckets!)
  const half = buckets.length / 2
  for (const [place, to] of [1, 2].entries())
    await moveBuckets(mover, { from: 0, to, buckets: buckets.slice(place * half, (place + 1) * half).join() })
  await using remover = await open(all)
  await remover.shards.remove(0)
  await old.stop()

  const count = ids.length
  await expect.poll(() => ids.length > count + 20 || errors.length > 0, { timeout: 60_000 }).toBe(true)
  expect(errors).toEqual([])
  // The writer goes on, so the follower is always a write or two behind it.
  const written = ids.slice()
  await expect.poll(() => written.every((id) => seen.has(id)), { timeout: 60_000 }).toBe(true)
  ended.abort()
  await Promise.all([writing, following])
  expect(errors).toEqual([])
  expect(cleaner.status().shards).toHaveLength(2)
  expect(await sleeper.getMany(ids)).not.toContain(undefined)
  await sleeper.put({ user: 'late', n: -1 })
  await sleeper.close()
  for (const shards of [all, urls, urls.slice(1)]) {
    await using started = await open(shards)
    expect(await started.getMany(ids)).not.toContain(undefined)
    expect((await started.shards.list()).map(({ state }) => state)).toEqual(['removed', 'serving', 'serving'])
  }
}, 120_000)
