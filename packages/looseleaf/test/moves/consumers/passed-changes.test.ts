import { readConsumers } from '@looseleaf/changes'
import { LooseleafError, parseId } from '@looseleaf/core'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { SOME_BUCKETS } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { moveUntil } from './moving.ts'

test('a failing change is on the disk of the shard that takes it over before the other shard forgets it', async () => {
  const shards = crashingShards(2, (driver) => driver)
  let step: 'pass' | 'passed' | 'over' = 'pass'
  const faulty = {
    ...shards.factory,
    connect: async (options: Parameters<typeof shards.factory.connect>[0]) =>
      faultyDriver(await shards.factory.connect(options), ({ shard, operation, args }) => {
        const isMoved = JSON.stringify(args[0] ?? '').includes('/moved')
        if (step === 'pass' && shard === 1 && operation === 'save' && isMoved)
          return {
            before() {
              shards.hang(1)
              step = 'passed'
            },
          }
        // The letter is not read before the crash.
        if (step !== 'over' && shard === 1 && operation === 'loadAll' && isMoved)
          return {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
            },
          }
        const isFailing =
          args[0] instanceof Map && [...args[0].values()].some((text) => text.includes('error'))
        if (step !== 'passed' || shard !== 0 || operation !== 'saveAll' || isFailing) return undefined
        step = 'over'
        return { after: () => shards.crash(1) }
      }),
  }
  const store = await DataStore.open({ shards: faulty, migrate: true })
  const mover = await DataStore.open({ shards: shards.factory, time: leapingTime() })
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  await store.put({ n: 1 }, { id })
  const consumed = new Consumed()
  consumed.onChange = () => {
    if (step !== 'over') throw new Error('The search engine is down.')
  }
  await using _ = consumed.start(store, { maxAttempts: 10_000 })
  await poll(async () => (await readConsumers(mover))[0]?.shards[0]?.failing).toBe(1)
  await moveUntil(mover, 'emptying')
  await poll(() => step).toBe('over')
  await consumed.reach(await versionsOf(mover))
  expect(consumed.last(id)).toBeGreaterThan(0)
})
