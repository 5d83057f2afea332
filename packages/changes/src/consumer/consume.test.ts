import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { readRegistry } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  discardDeadLetters,
  dropConsumer,
  readDeadLetters,
  replayDeadLetters,
} from '../report/manage-consumers.ts'
import { readConsumers } from '../report/read-consumers.ts'
import { gone, Search, SHARDS, until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
import { consume, type Consumer } from './consume.ts'
import type { ConsumeOptions } from './consume-options.ts'
import type { Handler } from './row-handler.ts'

let search: Search
let store: DataStore
let handled: ChangedEntity[]

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  handled = []
})
afterEach(() => search.end(store))

const keep: Handler = (change) => void handled.push(change)

const start = (handler: Handler = keep, options: ConsumeOptions = {}, by = store): Consumer =>
  search.start(by, handler, { leaseMs: 300, ...options })

/** Returns the incarnation of the consumer `search` on the first shard. */
const incarnation = async (): Promise<string> =>
  (await readRegistry(store.context, 0, {})).get('search')!.incarnation

/** Returns the last handled version of each entity. */
const last = (): Map<EntityId, number> => new Map(handled.map(({ id, version }) => [id, version]))

const putOn = async (shard: number, bag: object): Promise<EntityId> =>
  (await store.put(bag, { id: idOn(store, shard) })).id

describe('a consumer', () => {
  it('a new consumer receives every stored entity, then every write and delete', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, async (_, n) => (await store.put({ n })).id))
    const consumer = start()
    await until(() => last().size === 30)
    const { version } = await store.put({ n: 'again' }, { id: ids[0]! })
    await store.delete(ids[1]!)
    await until(() => handled.length === 32)
    expect(last().get(ids[0]!)).toBe(version)
    expect(handled.find(({ id, entity }) => id === ids[0] && entity?.['n'] === 'again')).toMatchObject({
      entity: { id: ids[0], n: 'again' },
      attempt: 1,
    })
    expect(handled.find(({ id, entity }) => id === ids[1] && entity === undefined)).toBeDefined()
    await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
    expect(consumer.status()).toMatchObject({ isRunning: true, handled: 32, failed: 0, deadLettered: 0 })
  })

  it('a restarted consumer resumes at its place, and a new one with `now` skips stored entities', async () => {
    await store.put({ n: 1 })
    const first = start(keep, { from: 'now' })
    await until(async () => (await readConsumers(store)).length === 1)
    await until(() => first.status().shards.every(({ partitions }) => partitions === 8))
    const second = await store.put({ n: 2 })
    await until(() => handled.length === 1)
    await first.stop()
    expect(first.status().isRunning).toBe(false)
    const third = await store.put({ n: 3 })
    start()
    await until(() => handled.length === 2)
    expect(handled.map(({ id }) => id)).toEqual([second.id, third.id])
  })

  it('a second consumer of a name on one store is refused until the first is stopped', async () => {
    const first = start()
    expect(() => consume(store, 'search', () => {}, { from: 'beginning' })).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: expect.stringMatching(/consumer search already runs .*a name of its own.*`concurrency`/),
      }),
    )
    const { id } = await store.put({ n: 1 })
    await until(() => handled.some((change) => change.id === id))
    const stopping = first.stop()
    const second = start()
    const later = await store.put({ n: 2 })
    await until(() => handled.some((change) => change.id === later.id))
    await Promise.all([stopping, second.stop()])
  })

  it('a new consumer without `from` is refused with both choices, handles nothing and registers nothing', async () => {
    await store.put({ n: 1 })
    const errors: unknown[] = []
    const onError = (error: unknown): void => void errors.push(error)
    const consumer = start(keep, { from: undefined, onError })
    await until(() => !consumer.status().isRunning)
    expect(errors).toMatchObject([
      { code: 'BAD_OPTION', message: expect.stringMatching(/no consumer search yet.*'beginning'.*'now'/) },
    ])
    expect(handled).toEqual([])
    expect(await readConsumers(store)).toEqual([])
  })

  it('a new consumer without `from` and without `onError` becomes a warning of the process', async () => {
    const warnings: string[] = []
    const onWarning = ({ message }: Error): void => void warnings.push(message)
    process.on('warning', onWarning)
    try {
      const consumer = start(keep, { from: undefined })
      await until(() => !consumer.status().isRunning && warnings.length > 0)
      expect(warnings).toEqual([
        expect.stringMatching(/^The consumer search has ended: .*'beginning'.*'now'/),
      ])
    } finally {
      process.off('warning', onWarning)
    }
  })

  it('the end of a consumer without `onError` becomes a warning to `onWarning` of the store', async () => {
    const warnings: string[] = []
    const shards = memoryShards(1)
    const onWarning = (message: string): void => void warnings.push(message)
    await using warned = await DataStore.open({ shards, migrate: true, onWarning })
    await using consumer = consume(warned, 'unknown', keep)
    await until(() => !consumer.status().isRunning)
    expect(warnings).toEqual([expect.stringMatching(/^The consumer unknown has ended: /)])
  })

  it('a known consumer resumes without `from`, and a new one is not refused while a shard does not answer', async () => {
    const first = start()
    await until(() => first.status().shards.every(({ partitions }) => partitions === 8))
    await first.stop()
    search.plan = ({ shard, table }) => (shard === 1 && table === 'tasks' ? gone : undefined)
    const codes = new Set<unknown>()
    const onError = (error: unknown): void => void codes.add((error as { code?: unknown }).code)
    const known = start(keep, { from: undefined, onError })
    const unknown = consume(store, 'other', keep, { pollMs: 10, retryMs: 5, onError })
    search.consumers.push(unknown)
    await until(() => codes.size > 0)
    expect([...codes]).toEqual(['SHARD_UNAVAILABLE'])
    expect([known.status().isRunning, unknown.status().isRunning]).toEqual([true, true])
    search.plan = () => undefined
    await until(() => !unknown.status().isRunning)
    expect(codes).toContain('BAD_OPTION')
    const { id } = await store.put({ n: 1 })
    await until(() => handled.some((change) => change.id === id))
    await known.stop()
  })

  it('a consumer under a new name starts over, and the old one can be dropped', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await store.put({ n })).id))
    const old = start()
    await until(() => handled.length === 20)
    const bySecond: ChangedEntity[] = []
    const options = { from: 'beginning', pollMs: 10, leaseMs: 300 } as const
    const other = consume(store, 'search-2', (change) => void bySecond.push(change), options)
    search.consumers.push(other)
    await until(() => bySecond.length === 20)
    const { version } = await store.put({ n: 'newer' }, { id: ids[0]! })
    await until(() => handled.length === 21 && bySecond.length === 21)
    expect(bySecond.at(-1)).toMatchObject({ id: ids[0], version })
    await old.stop()
    await dropConsumer(store, 'search')
    const { id } = await store.put({ n: 'last' })
    await until(() => bySecond.at(-1)?.id === id)
    expect((await readConsumers(store)).map(({ name }) => name)).toEqual(['search-2'])
    expect(handled).toHaveLength(21)
  })

  it('a consumer handles more than a page of changes, and never more than `concurrency` at once', async () => {
    await store.putMany(Array.from({ length: 1_300 }, (_, n) => ({ n })))
    let inFlight = 0
    let most = 0
    start(
      async (change) => {
        most = Math.max(most, ++inFlight)
        await new Promise(setImmediate)
        inFlight--
        handled.push(change)
      },
      { concurrency: 5 },
    )
    await until(() => handled.length === 1_300)
    expect(last().size).toBe(1_300)
    expect(most).toBe(5)
  })

  it('a consumer handles the versions of an entity in order, one at a time', async () => {
    const { id } = await store.put({ n: 0 })
    let inFlight = 0
    let most = 0
    start(async (change) => {
      most = Math.max(most, ++inFlight)
      await new Promise((resolve) => setTimeout(resolve, 3))
      inFlight--
      handled.push(change)
    })
    let version = 0
    for (let n = 1; n <= 60; n++) version = (await store.put({ n }, { id })).version
    await until(() => last().get(id) === version)
    const versions = handled.map((change) => change.version)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(most).toBe(1)
  })

  it('a consumer reports its counts to observers', async () => {
    const events: unknown[] = []
    const observed = await DataStore.open({
      shards: keepOpen(search.memory),
      observer: { happened: (event) => void (event.kind === 'consumed' && events.push(event)) },
    })
    await store.put({ n: 1 })
    start(keep, {}, observed)
    await until(() => handled.length === 1)
    await until(() => events.length > 3)
    expect(events).toContainEqual(
      expect.objectContaining({
        kind: 'consumed',
        consumer: 'search',
        handled: 1,
        failed: 0,
        deadLettered: 0,
      }),
    )
    await Promise.all(search.consumers.map((consumer) => consumer.stop()))
    await observed.close()
  })
})

it('a consumer reports changes of a round in which it has lost its partitions', async () => {
  let counts = 0
  let isLost = false
  const driver = faultyDriver(search.memory, ({ operation }) =>
    operation === 'saveAll' && handled.length === 2 && !isLost
      ? {
          after() {
            isLost = true
            throw unknownOutcome()
          },
        }
      : undefined,
  )
  await using observed = await DataStore.open({
    shards: keepOpen(driver),
    observer: { happened: (event) => void (event.kind === 'consumed' && (counts += event.handled)) },
  })
  for (const n of [1, 2]) await putOn(0, { n })
  await using _ = start(keep, { onError: () => {} }, observed)
  await until(() => isLost && counts >= 2)
  expect(counts).toBe(2)
})

it('a consumer without partitions reports nothing to observers', async () => {
  const events: unknown[] = []
  const driver = faultyDriver(search.memory, ({ operation }) => (operation === 'claimAll' ? gone : undefined))
  await using observed = await DataStore.open({
    shards: keepOpen(driver),
    observer: { happened: (event) => void (event.kind === 'consumed' && events.push(event)) },
  })
  const errors: unknown[] = []
  await using _ = start(keep, { onError: (error) => void errors.push(error) }, observed)
  await until(() => errors.length > 3)
  expect(events).toEqual([])
})

describe('a change that its handler refuses', () => {
  it('a failing change is retried with the current state of its entity, while other changes proceed', async () => {
    const bad = await putOn(0, { n: 'bad' })
    let isFixed = false
    const errors: unknown[] = []
    start(
      (change) => {
        if (change.id === bad && !isFixed) throw new Error('refused')
        handled.push(change)
      },
      {
        onError: (error, change) => void errors.push([(error as Error).message, change?.id, change?.attempt]),
      },
    )
    await until(() => errors.length >= 3)
    const good = await putOn(0, { n: 'good' })
    await until(() => last().has(good))
    expect(last().has(bad)).toBe(false)
    expect(errors.slice(0, 3)).toEqual([1, 2, 3].map((attempt) => ['refused', bad, attempt]))
    const { version } = await store.put({ n: 'newer' }, { id: bad })
    // The next attempt may have read the entity before this write; the one after it has not.
    const before = errors.length
    await until(() => errors.length >= before + 2)
    isFixed = true
    await until(() => last().get(bad) === version)
    expect(new Set(handled.filter(({ id }) => id === bad).map((change) => change.version))).toEqual(
      new Set([version]),
    )
    await until(async () => (await readConsumers(store))[0]!.shards[0]!.failing === 0)
  })

  it('a failing change becomes a dead letter, which can be replayed and discarded', async () => {
    const [replayed, discarded] = [await putOn(0, { n: 1 }), await putOn(1, { n: 2 })]
    let isFixed = false
    start(
      (change) => {
        if (!isFixed) throw new Error(`refused ${'x'.repeat(1_000)}`)
        handled.push(change)
      },
      { maxAttempts: 3 },
    )
    await until(async () => (await readDeadLetters(store, 'search')).length === 2)
    const letters = await readDeadLetters(store, 'search')
    expect(letters).toMatchObject([{ attempts: 3 }, { attempts: 3, isReplayed: false }])
    expect(letters[0]!.error).toMatch(/^refused x+…$/)
    expect(letters[0]!.error).toHaveLength(500)
    expect(letters[0]!.failedAt.getTime()).toBeLessThanOrEqual(Date.now())
    expect((await readConsumers(store))[0]!.shards.map(({ deadLetters }) => deadLetters)).toEqual([1, 1])
    expect(await discardDeadLetters(store, 'search', [discarded.toUpperCase()])).toBe(1)
    isFixed = true
    const { version } = await store.put({ n: 'newer' }, { id: replayed })
    await until(() => last().get(replayed) === version)
    expect(await replayDeadLetters(store, 'search')).toBe(1)
    await until(async () => (await readDeadLetters(store, 'search')).length === 0)
    await until(() => handled.filter(({ id }) => id === replayed).length === 2)
    expect(last().has(discarded)).toBe(false)
  })

  it('many failing changes block their partition only, until they are handled', async () => {
    await store.putMany(Array.from({ length: 2_500 }, (_, n) => ({ n })))
    let isDown = true
    const consumer = start(
      (change) => {
        if (isDown) throw new Error('The engine is down.')
        handled.push(change)
      },
      { maxAttempts: 1_000 },
    )
    const failing = (): number => consumer.status().shards.reduce((sum, shard) => sum + shard.failing, 0)
    await until(() => failing() >= 1_600)
    await new Promise((resolve) => setTimeout(resolve, 100))
    // A hundred per partition, and those whose handlers were in flight.
    expect(failing()).toBeLessThan(1_600 + 16 * 8)
    expect(await readDeadLetters(store, 'search')).toEqual([])
    isDown = false
    await until(() => last().size === 2_500)
    await until(() => failing() === 0)
  })

  it('a change that cannot be decoded becomes a dead letter like any other', async () => {
    const { id } = await store.put({ n: 1 })
    const shard = search.memory.shards[store.context.router.shardOfId(parseId(id))]!
    const [row] = await shard.entities.read([parseId(id)])
    const { epoch } = store.context.catalog.current().shards[0]!
    await shard.entities.replace(
      [{ id: row!.id, base: row!.version, version: row!.version + 1, body: new Uint8Array([1, 2, 3]) }],
      { epoch },
    )
    start(keep, { maxAttempts: 2 })
    await until(async () => (await readDeadLetters(store, 'search')).length === 1)
    expect(await readDeadLetters(store, 'search')).toMatchObject([{ id, error: expect.stringContaining(id) }])
  })
})

describe('several processes', () => {
  it('two processes share the partitions, and one takes over those that the other releases', async () => {
    const other = await search.openStore()
    const byFirst: ChangedEntity[] = []
    // Long enough that a busy machine renews them in time.
    const leaseMs = 1_500
    const first = start((change) => void byFirst.push(change), { leaseMs })
    await until(() => first.status().shards.every(({ partitions }) => partitions === 8))
    const second = start(keep, { leaseMs }, other)
    await until(() => second.status().shards.every(({ partitions }) => partitions === 4))
    await until(() => first.status().shards.every(({ partitions }) => partitions === 4))
    await store.putMany(Array.from({ length: 200 }, (_, n) => ({ n })))
    await until(() => new Set([...byFirst, ...handled].map(({ id }) => id)).size === 200)
    expect(byFirst.length).toBeGreaterThan(0)
    expect(handled.length).toBeGreaterThan(0)
    await until(async () => {
      const [consumer] = await readConsumers(store)
      return (
        consumer?.name === 'search' &&
        consumer.shards.every(({ partitions, processes }) => partitions === 8 && processes === 2)
      )
    })
    await second.stop()
    await until(() => first.status().shards.every(({ partitions }) => partitions === 8))
    await other.close()
  })

  it('a process that reconnects never hands over an older version after a newer one', async () => {
    // This store does not use the faulty driver.
    const other = await DataStore.open({ shards: keepOpen(search.memory) })
    let isCutOff = false
    let refusals = 0
    search.plan = ({ operation }) =>
      isCutOff && operation === 'saveAll' && ++refusals > 0
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is cut off.')) }
        : undefined
    const { id } = await store.put({ n: 0 })
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const byFirst: number[] = []
    const first = start(async ({ version }) => {
      byFirst.push(version)
      await held
    })
    await until(() => byFirst.length === 1)
    isCutOff = true
    const { version } = await store.put({ n: 1 }, { id })
    // The leases of the first consumer expire while its handler is in flight.
    await new Promise((resolve) => setTimeout(resolve, 700))
    const second = start(keep, {}, other)
    await until(() => last().get(id) === version)
    expect(refusals).toBeGreaterThan(0)
    isCutOff = false
    release()
    await until(() => second.status().shards.some(({ partitions }) => partitions === 4))
    await first.stop()
    // After the change that was in flight, the first consumer handles only the newer version.
    expect(byFirst.slice(1).every((handledVersion) => handledVersion === version)).toBe(true)
    expect(last().get(id)).toBe(version)
    await other.close()
  })
})

it('a consumer retries a shard that does not answer, while the other shard proceeds', async () => {
  let isDown = true
  search.plan = ({ shard, operation }) =>
    isDown && shard === 1 && operation === 'pageOfChanges'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')) }
      : undefined
  const errors: unknown[] = []
  const [up, down] = [await putOn(0, { n: 0 }), await putOn(1, { n: 1 })]
  start(keep, { onError: (error) => void errors.push(error) })
  await until(() => last().has(up) && errors.length > 0)
  expect(last().has(down)).toBe(false)
  expect(errors[0]).toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  isDown = false
  await until(() => last().has(down))
})

it('an exception in `onError` becomes a warning, and the change is still retried', async () => {
  const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  await store.put({ n: 1 })
  start(
    (change) => {
      if (change.attempt === 1) throw new Error('refused')
      handled.push(change)
    },
    {
      onError: () => {
        throw new Error('of onError')
      },
    },
  )
  await until(() => handled.length === 1)
  expect(warnings).toHaveBeenCalledWith('onError of consume failed: Error: of onError', 'LooseleafWarning')
  warnings.mockRestore()
})

it('an exception of a handler after the stop is no failure, and its change comes again', async () => {
  const errors: unknown[] = []
  await store.put({ n: 1 })
  const consumer = start(
    async (_, { signal }) => {
      handled.push({} as ChangedEntity)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new Error('stopped')
    },
    { onError: (error) => void errors.push(error) },
  )
  await until(() => handled.length === 1)
  await consumer.stop()
  expect(consumer.status()).toMatchObject({ handled: 0, failed: 0 })
  expect(errors).toEqual([])
  handled = []
  start()
  await until(() => handled.length === 1)
})

it('after a failover that loses the floor, later writes are still handled', async () => {
  const consumer = start()
  await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
  await consumer.stop()
  // Places ahead of the floor, as after a failover that lost it.
  const ahead = JSON.stringify({
    incarnation: await incarnation(),
    updated: (Date.now() + 3_600_000) * 1000,
    addedId: 1,
    failing: [],
    process: '',
  })
  const names = Array.from({ length: 8 }, (_, partition) => `consume/search/${partition}`)
  for (const { tasks } of search.memory.shards) {
    expect((await tasks.claimAll(names, 'operator', 1_000)).size).toBe(8)
    await tasks.saveAll(new Map(names.map((name) => [name, ahead])), 'operator', 0)
  }
  start()
  const { id, version } = await store.put({ n: 1 })
  await until(() => last().get(id) === version)
})

it('after a failover that loses the floor, later writes are handled in partitions that were ahead of others, even if the floor has risen again', async () => {
  const consumer = start()
  await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
  await consumer.stop()
  for (const { entities } of search.memory.shards) await entities.raiseFloor()
  const ids = await Promise.all(Array.from({ length: 64 }, async (_, n) => (await store.put({ n })).id))
  const record = { incarnation: await incarnation(), addedId: 1, failing: [], process: '' }
  const place = (updated: number): string => JSON.stringify({ ...record, updated })
  // Half of the places come from the old primary: later than the writes to the new one, and ahead of its floor.
  const texts = Array.from({ length: 8 }, (_, partition): [string, string] => [
    `consume/search/${partition}`,
    place(partition < 4 ? Date.now() * 1000 + 2_000 : 1),
  ])
  await new Promise((done) => setTimeout(done, 30))
  for (const { tasks } of search.memory.shards) {
    expect(
      (
        await tasks.claimAll(
          texts.map(([name]) => name),
          'operator',
          1_000,
        )
      ).size,
    ).toBe(8)
    await tasks.saveAll(new Map(texts), 'operator', 0)
  }
  handled.length = 0
  start()
  await until(() => ids.every((id) => last().has(id)))
})

it('a stop during a claim releases the claimed partitions at once', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let claims = 0
  search.plan = ({ operation }) =>
    operation === 'claimAll' && ++claims <= SHARDS ? { after: () => promise } : undefined
  const consumer = start(keep, { leaseMs: 60_000 })
  await until(() => claims === SHARDS)
  const stopped = consumer.stop()
  resolve()
  await stopped
  await store.put({ n: 1 })
  start(keep, { leaseMs: 60_000 })
  await until(() => handled.length === 1)
  expect(claims).toBeGreaterThan(SHARDS)
})

it('the lag keeps growing while only failing changes remain', async () => {
  const consumer = start(
    () => {
      throw new Error('the engine is down')
    },
    { retryMs: 60_000, leaseMs: 60_000 },
  )
  await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => store.put({ n })))
  await until(() => consumer.status().shards.every(({ failing }) => failing === 800))
  const leastLag = (): number => Math.min(...consumer.status().shards.map(({ lagMs = NaN }) => lagMs))
  const before = leastLag()
  await expect.poll(leastLag, { timeout: 60_000 }).toBeGreaterThan(before + 400)
})

it('a consumer does not count as dropped while the only shard that knows it does not answer', async () => {
  const first = start()
  await until(() => first.status().shards.every(({ partitions }) => partitions === 8))
  await first.stop()
  // The first shard is restored without its registry and places.
  const names = ['consumers', ...Array.from({ length: 8 }, (_, n) => `consume/search/${n}`)]
  const { tasks } = search.memory.shards[0]!
  expect((await tasks.claimAll(names, 'operator', 1_000)).size).toBe(names.length)
  await tasks.saveAll(new Map(names.map((name) => [name, ''])), 'operator', 0)
  let isDown = true
  search.plan = ({ shard }) => (isDown && shard === 1 ? gone : undefined)
  const consumer = start()
  await new Promise((done) => setTimeout(done, 200))
  isDown = false
  const { id, version } = await store.put({ n: 1 })
  await until(() => last().get(id) === version)
  expect(consumer.status().isRunning).toBe(true)
})

it('a consumer that cannot read its first places releases its partitions', async () => {
  let claims = 0
  let refused = 0
  // After the registration, the registry cannot be read.
  search.plan = ({ operation }) => {
    if (operation === 'claimAll') claims++
    if (operation !== 'load' || claims === 0) return undefined
    return {
      before() {
        refused++
        throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: 'memory 0' })
      },
    }
  }
  const first = start(keep, { leaseMs: 60_000 })
  await until(() => refused >= SHARDS)
  await first.stop()
  expect(first.status().shards.map(({ partitions }) => partitions)).toEqual([0, 0])
  search.plan = () => undefined
  const second = start()
  await until(() => second.status().shards.every(({ partitions }) => partitions === 8))
})

describe('a consumer that is dropped', () => {
  it('a dropped consumer is unknown, and a new one of its name starts over', async () => {
    await store.put({ n: 1 })
    const consumer = start()
    await until(() => handled.length === 1)
    await expect(dropConsumer(store, 'search')).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      message: expect.stringMatching(
        /works on the consumer search on shard .*\. Stop it .* lease has expired/,
      ),
    })
    await consumer.stop()
    await dropConsumer(store, 'search')
    expect(await readConsumers(store)).toEqual([])
    await expect(readDeadLetters(store, 'search')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'The store has no consumer search; it has none.',
    })
    start()
    await until(() => handled.length === 2)
  })

  it('a standby process leaves a dropped consumer without keeping its partitions', async () => {
    for (let n = 0; n < 30; n++) await store.put({ n })
    const first = start()
    await until(() => last().size === 30)
    await first.stop()
    // The second process knows the consumer, and gets no partition until the drop begins.
    let claims = 0
    let isDropping = false
    const standby: FaultPlan = ({ operation }) =>
      operation === 'claimAll' && (claims++, !isDropping) ? gone : undefined
    const other = await DataStore.open({ shards: keepOpen(faultyDriver(search.memory, standby)) })
    const second = start(keep, { leaseMs: 100 }, other)
    await until(() => claims >= SHARDS)
    search.plan = ({ operation }) => {
      if (operation === 'claimAll') isDropping = true
      // The drop is slow, so that the second process looks for partitions several times.
      return operation === 'saveAll'
        ? { after: () => new Promise((resolve) => setTimeout(resolve, 500)) }
        : undefined
    }
    await dropConsumer(store, 'search')
    search.plan = () => undefined
    await until(() => !second.status().isRunning)
    handled = []
    start(keep, { from: 'beginning' })
    await until(() => last().size === 30)
    expect(second.status().handled).toBe(0)
    await other.close()
  })

  it('a drop that fails because a shard does not answer restores the places and releases them at once', async () => {
    const { version, id } = await store.put({ n: 1 })
    const first = start()
    await until(() => handled.length === 1)
    await first.stop()
    search.plan = ({ shard, operation }) => (shard === 1 && operation === 'claimAll' ? gone : undefined)
    await expect(dropConsumer(store, 'search')).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    search.plan = () => undefined
    const second = start()
    await until(() => second.status().shards.every(({ partitions }) => partitions === 8))
    await store.put({ n: 2 })
    await until(() => handled.length === 2)
    expect(handled.filter((change) => change.id === id && change.version === version)).toHaveLength(1)
  })
})

it.each([
  [() => consume({} as never, 'search', keep), /consume takes a DataStore/],
  [() => consume(store, 'no spaces', keep), /consume takes a name of up to 64/],
  [() => consume(store, 'search', undefined as never), /consume takes a function that handles/],
  [() => consume(store, 'search', keep, { pollMs: 1 }), /pollMs of consume has to be .* 10 or more; got 1/],
  [
    () => consume(store, 'search', keep, { leaseMs: 300_001 }),
    /leaseMs of consume has to be .* from 100 to 300000; got 300001/,
  ],
  [() => consume(store, 'search', keep, { from: 'cursor' as never }), /'beginning' or 'now'/],
  [
    () => consume(store, 'search', keep, { workers: 1 } as never),
    /has no option "workers"; there are .*concurrency/,
  ],
])('`consume` rejects bad input: %#', (call, message) => {
  expect(call).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
  )
})
