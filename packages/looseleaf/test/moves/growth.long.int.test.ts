import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { endAttack } from './attack/end-attack.ts'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { attackedIndexes } from './attack/indexes.ts'
import { newFindings } from './attack/oracle.ts'
import { startTraffic } from './attack/traffic.ts'

test('writers and readers lose nothing, and no call fails, while a store grows from one server to three and gives one back', async () => {
  const { urls } = await freshShards(3)
  const open = (): Promise<DataStore> =>
    DataStore.open({
      shards: mysqlShards(urls.slice(0, 1)),
      indexes: attackedIndexes,
      migrate: true,
      queryTimeMs: 10_000,
      writeTimeoutMs: 100_000,
      time: fastTime(5),
      onWarning: () => {},
    })
  await using admin = await open()
  const stores = [await open(), await open()]
  const traffic = await startTraffic(
    stores,
    { writers: 4, readers: 2, entitiesPerWriter: 20, pause: () => wait(10) },
    newFindings(),
  )
  const sizesOf = async (): Promise<readonly number[]> =>
    (await admin.shards.list({ sizes: true })).map(({ size }) => size!.bytes)

  for (const url of urls.slice(1)) await admin.shards.add(url)
  const grown = await admin.shards.rebalance()
  expect(grown.map(({ from, to, state }) => [from, to, state])).toEqual([
    [0, 1, 'done'],
    [0, 2, 'done'],
  ])
  const sizes = await sizesOf()
  // Entities are written meanwhile.
  expect(Math.max(...sizes) / Math.min(...sizes)).toBeLessThan(2)
  const shrunk = await admin.shards.drain(1)
  expect(shrunk.map(({ from, state }) => [from, state])).toEqual([
    [1, 'done'],
    [1, 'done'],
  ])
  expect(await admin.shards.repair()).toMatchObject({ moves: [], problems: [] })

  await traffic.stop()
  expect((await sizesOf())[1]).toBe(0)
  await using fresh = await open()
  await endAttack(stores, fresh, traffic)
  expect(traffic.findings).toMatchObject({ violations: [], failures: new Map() })
}, 120_000)
