import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { cleanIndex, deleteExpired } from '../src/index.ts'
import { startTunedCleaner } from '../src/internal.ts'
import { rowsIn } from './stores.ts'
import { until } from '@looseleaf-tooling/kit/times'

const MINUTE = 60_000
const expiring = defineIndex('sessions_expire', {
  properties: { until: 'time' },
  shardOn: 'id',
  expires: 'until',
})
const byToken = defineIndex('by_token', {
  properties: { token: 'string' },
  shardOn: 'token',
  unique: true,
})

test('expired entities on MariaDB are deleted with their index rows and claims, and renewed ones stay', async () => {
  const { urls } = await freshShards(2)
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [expiring, byToken],
    migrate: true,
    queryTimeMs: 500,
    onWarning: () => undefined,
  })
  onTestFinished(() => store.close())
  const put = (i: number, minutes: number): Promise<{ id: string }> =>
    store.put({ token: `${i}`, until: new Date(Date.now() + minutes * MINUTE) })
  // Each shard needs more than one statement to delete them.
  const expired = await Promise.all(Array.from({ length: 230 }, (_, i) => put(i, -2 - i)))
  const renewed = await put(300, -5)
  await store.update(renewed.id, (bag) => ({ ...bag, until: new Date(Date.now() + MINUTE) }))
  const stays = await put(301, 5)

  expect(await deleteExpired(store)).toBe(230)
  const ids = expired.map(({ id }) => id)
  expect((await store.getMany(ids)).filter((found) => found !== undefined)).toEqual([])
  expect((await store.getMany([renewed.id, stays.id])).every((found) => found !== undefined)).toBe(true)
  await cleanIndex(store)
  expect(await rowsIn(store, 'by_token')).toHaveLength(2)
  expect(await store.insert({ token: '7' })).toBeDefined()

  const again = await put(302, -2)
  const cleaner = startTunedCleaner(store, { intervalMs: 20, idleIntervalMs: 20 })
  onTestFinished(() => cleaner.stop())
  await until(async () => (await rowsIn(store, 'sessions_expire')).length === 2)
  expect(cleaner.status().expired).toBe(1)
  expect(await store.get(again.id)).toBeUndefined()
})
