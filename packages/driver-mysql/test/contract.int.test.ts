import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { driverContract } from '@looseleaf/testkit'
import * as vitest from 'vitest'
import { mysqlShards } from '../src/mysql-shards.ts'

// With one connection, a call that holds one while it waits for another would never end.
for (const poolSize of [10, 1]) {
  driverContract(vitest, `MariaDB, pools of ${poolSize}`, async () => {
    const databases = await freshShards(2)
    const factory = mysqlShards(databases.urls, { poolSize })
    return {
      driver: await factory.connect(),
      connectAgain: () => factory.connect(),
      cleanUp: () => databases.drop(),
    }
  })
}
