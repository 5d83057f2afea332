import { mysqlShards } from '@looseleaf/driver-mysql'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, onTestFinished, test } from 'vitest'
import { rollingDeployment } from './rolling.ts'
import { testTimeout } from './settings.ts'

test(
  'on MariaDB, two versions of a program side by side lose no write, miss no match and leave every index exact',
  async () => {
    const { urls, drop } = await freshShards(2)
    onTestFinished(drop)
    const result = await rollingDeployment({
      connect: () => mysqlShards(urls, { poolSize: 4 }),
      cycles: isLong ? 20 : 4,
      entities: 40,
      seed: 2,
      callsAtLeast: 15,
      queryTimeMs: 200,
    })
    expect(result.wrong).toEqual([])
    expect(result.acknowledged).toBeGreaterThan(90)
    expect(result.answers).toBeGreaterThan(30)
    // Whether a call meets a change of the catalog depends on the machine; in a short run none may.
    if (isLong) expect(result.refused).toBeGreaterThan(0)
  },
  // The test creates and drops tables twenty times.
  2 * testTimeout(),
)
