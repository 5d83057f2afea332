import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, onTestFinished, test } from 'vitest'
import { rollingDeployment } from './rolling.ts'

test('on SQLite, two versions of a program side by side lose no write, miss no match and leave every index exact', async () => {
  const driver = await memoryShards(2).connect()
  onTestFinished(() => driver.close())
  const result = await rollingDeployment({
    connect: () => keepOpen(driver),
    cycles: isLong ? 20 : 8,
    entities: 40,
    seed: 1,
    callsAtLeast: 8,
    queryTimeMs: 50,
  })
  expect(result.wrong).toEqual([])
  expect(result.acknowledged).toBeGreaterThan(80)
  expect(result.answers).toBeGreaterThan(40)
  expect(result.refused).toBeGreaterThan(0)
})
