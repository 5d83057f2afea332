import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { test } from 'vitest'
import { byMail, checkWritesDuringMove } from './writers-during-moves.ts'

test('no call of eight writers on MariaDB fails, and no write is lost, while 16 groups of buckets are handed over', async () => {
  const { urls } = await freshShards(2)
  const driver = await mysqlShards(urls).connect()
  try {
    const open = (): Promise<DataStore> =>
      DataStore.open({ shards: mysqlShards(urls), indexes: [byMail], migrate: true })
    await checkWritesDuringMove(driver, open, 16)
  } finally {
    await driver.close()
  }
})
