import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from '../stores.ts'
import { Consumed, versionsOf } from './consumed.ts'
import { finishMoves } from './moving.ts'

test('two processes of a consumer on MariaDB hand the states of every entity over in order, while buckets move away and back', async () => {
  const { urls } = await freshShards(2)
  const open = (time?: DataStore['context']['time']): Promise<DataStore> =>
    DataStore.open({ shards: mysqlShards(urls), migrate: true, time, onWarning: () => {} })
  await using mover = await open(leapingTime())
  await using first = await open()
  await using second = await open()
  const ids = (await first.putMany(Array.from({ length: 200 }, (_, n) => ({ n })))).map(({ id }) => id)
  const consumed = new Consumed()
  const failures = new Set(ids.filter((_, i) => i % 10 === 0))
  consumed.onChange = async ({ id }) => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    if (failures.delete(id)) throw new Error('The search engine is down.')
  }
  const errors: unknown[] = []
  const onError = (error: unknown, change?: unknown): void => void (change ?? errors.push(error))
  const consumers = [first, second].map((store) => consumed.start(store, { leaseMs: 1_000, onError }))
  for (const [n, [from, to]] of [
    [0, 1],
    [1, 0],
  ].entries()) {
    const moving = moveBuckets(mover, { from: from!, to: to!, buckets: SOME_BUCKETS }, { groups: 2 })
    for (const id of ids.slice(0, 100)) await second.put({ n: n + 1_000 }, { id })
    await moving
    for (const id of ids.slice(50, 150)) {
      failures.add(ids[75]!)
      await first.put({ n: n + 2_000 }, { id })
    }
    await finishMoves(mover)
  }
  await first.delete(ids[0]!)
  await consumed.reach(await versionsOf(mover))
  await Promise.all(consumers.map((consumer) => consumer.stop()))
  expect(consumed.backwards()).toEqual([])
  expect(errors).toEqual([])
}, 60_000)
