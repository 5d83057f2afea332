import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore, type Driver } from '../src/index.ts'

async function open(driver: Driver, migrate = false): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(driver),
    migrate,
    time: leapingTime(),
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
  return store
}

test('a call names the silent shard to which a removed shard gave its buckets', async () => {
  const driver = await memoryShards(3).connect()
  onTestFinished(() => driver.close())
  const store = await open(driver, true)
  const id = idOn(store, 0)
  await store.put({ name: 'ada' }, { id })
  const [{ buckets: first }, , { buckets: third }] = (await store.context.catalog.reload()).layout!
    .shards as readonly [{ buckets: string }, unknown, { buckets: string }]
  await moveBuckets(store, { from: 0, to: 2, buckets: first })
  await moveBuckets(store, { from: 2, to: 1, buckets: first })
  await moveBuckets(store, { from: 2, to: 1, buckets: third })
  await store.shards.remove(2)

  const { name } = driver.shards[1]!
  let isSilent = true
  const started = await open(
    faultyDriver(driver, ({ shard }) =>
      isSilent && shard === 1
        ? {
            before: () =>
              Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard: name })),
          }
        : undefined,
    ),
  )
  const listed = await started.shards.list()
  expect(listed.map(({ state, buckets }) => [state, buckets])).toEqual([
    ['serving', 0],
    ['serving', 4096],
    ['removed', 0],
  ])
  const unavailable = { code: 'SHARD_UNAVAILABLE', shard: name, message: 'It is away.' }
  await expect(started.get(id)).rejects.toMatchObject(unavailable)
  await expect(started.update(id, (bag) => ({ ...bag, n: 1 }))).rejects.toMatchObject(unavailable)
  expect(await started.getMany([id], { onUnavailable: 'skip' })).toMatchObject({
    complete: false,
    missingShards: [name],
  })
  isSilent = false
  expect(await started.get(id)).toMatchObject({ name: 'ada' })
})
