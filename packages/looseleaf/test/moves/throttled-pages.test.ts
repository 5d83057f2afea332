import { memoryShards } from '@looseleaf/driver-sqlite'
import { createThrottle, pagesByAdded } from '@looseleaf/protocol/internal'
import { steppedTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { openStore } from './stores.ts'

test('the pages of a shard are read one at a time, as the rate limit allows', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore(driver)
  await store.putMany(Array.from({ length: 100 }, (_, n) => ({ n })))
  const { context } = store
  const time = steppedTime()
  const work = { context, throttle: createThrottle(time, 20), signal: undefined }
  const sizes: number[] = []
  const reading = (async () => {
    for await (const page of pagesByAdded(work, 0)) sizes.push(page.length)
  })()
  for (let pages = 1; pages <= 5; pages++) {
    await time.step(0)
    expect(sizes).toHaveLength(pages)
    await time.step(1_000)
  }
  await reading
  expect(sizes).toEqual([20, 20, 20, 20, 20])
  await store.close()
  await driver.close()
})
