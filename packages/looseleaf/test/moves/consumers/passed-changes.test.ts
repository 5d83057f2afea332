import { readConsumers } from '@looseleaf/changes'
import { LooseleafError, parseId, type DriverFactory, type EntityId } from '@looseleaf/core'
import { bucketsOf } from '@looseleaf/index-engine/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { SOME_BUCKETS } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { moveUntil } from './moving.ts'

interface Opened {
  readonly store: DataStore
  readonly mover: DataStore
  /** An entity of the buckets that move. */
  readonly id: EntityId
}

async function storeOf(faulty: DriverFactory, shards: DriverFactory, deleteDelayMs = 0): Promise<Opened> {
  const store = await DataStore.open({ shards: faulty, migrate: true, deleteDelayMs })
  const mover = await DataStore.open({ shards, time: leapingTime() })
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  await store.put({ n: 1 }, { id })
  return { store, mover, id }
}

/** Moves the entity while its change fails until the fault is over. The consumer has to handle it in the end. */
async function expectHandledOnce({ store, mover, id }: Opened, isOver: () => boolean): Promise<void> {
  const consumed = new Consumed()
  consumed.onChange = () => {
    if (!isOver()) throw new Error('The search engine is down.')
  }
  // Without pauses that grow, the last retry comes right after the fault.
  await using _ = consumed.start(store, { maxAttempts: 1_000_000, retryMs: 0 })
  await poll(async () => (await readConsumers(mover))[0]?.shards[0]?.failing).toBe(1)
  await moveUntil(mover, 'emptying')
  await poll(isOver).toBe(true)
  await consumed.reach(await versionsOf(mover))
  expect(consumed.last(id)).toBeGreaterThan(0)
  const failing = async () => (await readConsumers(mover))[0]?.shards.map((shard) => shard.failing)
  await poll(failing).toEqual([0, 0])
}

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
  const opened = await storeOf(faulty, shards.factory)
  await expectHandledOnce(opened, () => step === 'over')
})

test('a failing change is passed on again if the server of its new shard restarts before the change is on disk there', async () => {
  const shards = crashingShards(2, (driver) => driver)
  let isHanging = false
  let isOver = false
  const faulty = {
    ...shards.factory,
    connect: async (options: Parameters<typeof shards.factory.connect>[0]) => {
      const driver = await shards.factory.connect(options)
      let endLease: () => Promise<unknown> = async () => {}
      return faultyDriver(driver, ({ shard, operation, args }) => {
        if (shard !== 1) return undefined
        const isMoved = JSON.stringify(args[0] ?? '').includes('/moved')
        // No process reads the letter before the crash.
        if (!isOver && operation === 'loadAll' && isMoved)
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
        const before = async (): Promise<void> => {
          if (isHanging) {
            shards.crash(1)
            isHanging = false
            isOver = true
            // The crash leaves the lease of the list, which the lost write would have ended.
            await endLease()
          } else {
            const [name, owner] = args as [string, string]
            endLease = () => driver.shards[1]!.tasks.save(name, owner, '', 0)
            shards.hang(1)
            isHanging = true
          }
        }
        const isNext = isHanging ? operation === 'flush' : operation === 'save' && isMoved
        return isNext && !isOver ? { before } : undefined
      })
    },
  }
  const opened = await storeOf(faulty, shards.factory)
  await expectHandledOnce(opened, () => isOver)
})

test('a failing change is passed on again if a failover of its new shard has lost it', async () => {
  const shards = crashingShards(2, (driver) => driver)
  let lost = 0
  let losing: Promise<void> | undefined
  const faulty = {
    ...shards.factory,
    connect: async (options: Parameters<typeof shards.factory.connect>[0]) => {
      const driver = await shards.factory.connect(options)
      return faultyDriver(driver, ({ shard, operation, args: [name, , progress] }) => {
        if (shard !== 1 || lost > 0) return undefined
        // A replica takes over that lacks the letter, before any process has read it.
        if (operation === 'loadAll') return { before: () => losing }
        if (operation !== 'save' || !String(name).endsWith('/moved') || progress === '') return undefined
        const lose = Promise.withResolvers<void>()
        return {
          before: () => void (losing = lose.promise),
          async after() {
            const { tasks } = driver.shards[1]!
            await tasks.claim(String(name), 'failover', 1_000)
            await tasks.save(String(name), 'failover', '', 0)
            lost++
            lose.resolve()
          },
        }
      })
    },
  }
  const opened = await storeOf(faulty, shards.factory, 300)
  await expectHandledOnce(opened, () => lost > 0)
})

test('a failing change that was passed on holds no later change of its bucket back, although a failover may still lose it', async () => {
  const { factory } = crashingShards(2, (driver) => driver)
  const { store, mover, id } = await storeOf(factory, factory, 600_000)
  const bad = id
  const consumed = new Consumed()
  consumed.onChange = (change) => {
    if (change.id === bad) throw new Error('The search engine is down.')
  }
  await using _ = consumed.start(store, { maxAttempts: 10_000 })
  await poll(async () => (await readConsumers(mover))[0]?.shards[0]?.failing).toBe(1)
  await moveUntil(mover, 'emptying')
  const buckets = bucketsOf(store.context.router)!
  let near = store.newId()
  while (buckets.ofId(parseId(near)) !== buckets.ofId(parseId(bad))) near = store.newId()
  const { version } = await store.put({ n: 2 }, { id: near })
  await consumed.reach(new Map([[near, version]]))
  expect(consumed.versions.get(near)).toEqual([version])
  // The old shard still keeps the change.
  const failing = async (): Promise<unknown> =>
    (await readConsumers(mover))[0]?.shards.map(({ failing: count }) => count)
  await poll(failing).toEqual([1, 1])
})
