import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { test } from 'vitest'
import { byMail, checkWritesDuringMove } from './writers-during-moves.ts'

test('no call of eight writers fails, and no write is lost, while 32 groups of buckets are handed over', async () => {
  const driver = await memoryShards(2).connect()
  try {
    const open = (): Promise<DataStore> =>
      DataStore.open({ shards: keepOpen(driver), indexes: [byMail], migrate: true })
    await checkWritesDuringMove(driver, open, 32)
  } finally {
    await driver.close()
  }
})
