import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { rollingDeployment } from './rolling.ts'

test('two versions of a program beside each other, on SQLite: no write is lost, no match is missed, every index is whole', async () => {
  const driver = await memoryShards(2).connect()
  onTestFinished(() => driver.close())
  const result = await rollingDeployment({
    connect: () => keepOpen(driver),
    cycles: 20,
    entities: 40,
    seed: 1,
    callsAtLeast: 8,
    queryTimeMs: 50,
  })
  expect(result.wrong).toEqual([])
  expect(result.acknowledged).toBeGreaterThan(200)
  expect(result.answers).toBeGreaterThan(100)
  expect(result.refused).toBeGreaterThan(0)
})
