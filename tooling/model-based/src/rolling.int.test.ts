import { mysqlShards } from '@looseleaf/driver-mysql'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, onTestFinished, test } from 'vitest'
import { rollingDeployment } from './rolling.ts'
import { testTimeout } from './settings.ts'

test(
  'two versions of a program beside each other, on MariaDB: no write is lost, no match is missed, every index is whole',
  async () => {
    const { urls, drop } = await freshShards(2)
    onTestFinished(drop)
    const result = await rollingDeployment({
      connect: () => mysqlShards(urls, { poolSize: 4 }),
      cycles: isLong ? 20 : 6,
      entities: 40,
      seed: 2,
      callsAtLeast: 15,
      queryTimeMs: 200,
    })
    expect(result.wrong).toEqual([])
    expect(result.acknowledged).toBeGreaterThan(90)
    expect(result.answers).toBeGreaterThan(30)
    expect(result.refused).toBeGreaterThan(0)
  },
  // Twenty times over, tables are made and dropped.
  2 * testTimeout(),
)
