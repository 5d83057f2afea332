import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { attackedIndexes } from './attack/indexes.ts'
import { moveToAndFro } from './attack/move-to-and-fro.ts'

test('writers and readers of two stores lose nothing, and no call fails, while buckets move to another server and back', async () => {
  const { urls } = await freshShards(2)
  const open = (): Promise<DataStore> =>
    DataStore.open({
      shards: mysqlShards(urls),
      indexes: attackedIndexes,
      migrate: true,
      queryTimeMs: 10_000,
      writeTimeoutMs: 100_000,
      time: fastTime(5),
      onWarning: () => {},
    })
  const mover = await open()
  const findings = await moveToAndFro([await open(), await open()], mover, {
    entitiesPerWriter: 10,
    groups: 8,
  })
  expect(findings).toMatchObject({ violations: [], failures: new Map() })
}, 120_000)
