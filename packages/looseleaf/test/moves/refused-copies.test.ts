import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, openStore, SOME_BUCKETS } from './stores.ts'

test('a copy that the target always refuses is sent under fifty further epochs, in each of six attempts', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 20)).close()
  let copies = 0
  const refusing = faultyDriver(driver, ({ operation }) => {
    if (operation !== 'receive') return undefined
    copies++
    return { before: () => Promise.reject(new LooseleafError('STALE_EPOCH', 'The epoch is another.')) }
  })
  const mover = await openStore(refusing, leapingTime())
  await expect(moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })).rejects.toMatchObject({
    code: 'STALE_EPOCH',
  })
  expect(copies).toBe(6 * 51)
  await mover.close()
  await driver.close()
})
