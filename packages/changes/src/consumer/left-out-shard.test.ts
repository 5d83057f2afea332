import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../test/search.ts'
import { consume } from './consume.ts'

test('a consumer reports no error of a shard that its process has left out before its catalog says so', async () => {
  const memory = await memoryShards(3).connect()
  onTestFinished(() => memory.close())
  let calls = 0
  const watched = faultyDriver(memory, () => void calls++)
  const shards = keepOpen(watched)
  const store = await DataStore.open({ shards, migrate: true, time: fastTime(30) })
  onTestFinished(() => store.close())
  await store.shards.drain(2)
  const { catalog } = store.context
  const known = catalog.latest()
  const context = { ...store.context, catalog: { ...catalog, latest: () => known } }
  const errors: unknown[] = []
  let handled = 0
  const consumer = consume({ context }, 'search', () => void handled++, {
    from: 'beginning',
    onError: (error) => void errors.push(error),
  })
  onTestFinished(() => consumer.stop())
  await store.put({ n: 1 })
  await until(() => handled === 1)
  const other = await DataStore.open({ shards, migrate: true, time: fastTime(30) })
  onTestFinished(() => other.close())
  await other.shards.remove(2)
  await catalog.reload()
  const before = calls
  await until(() => calls > before + 100)
  expect(errors).toEqual([])
})
