import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Hours, type Process } from '../../test/hours.ts'
import { gone, Search, until } from '../../test/search.ts'
import { consume } from './consume.ts'
import { consumeOptionKinds, settledOptions, type ConsumeOptions } from './consume-options.ts'
import { kindsOption, requireKinds, type ConsumedKind } from './consumed-kinds.ts'

test('options that are not given have their defaults, and others stay', () => {
  const given = { concurrency: 1, pollMs: 11, leaseMs: 200, retryMs: 0, maxAttempts: 2 }
  expect(settledOptions(given)).toEqual(given)
  expect(settledOptions({})).toEqual({
    concurrency: 8,
    pollMs: 250,
    leaseMs: 15_000,
    retryMs: 500,
    maxAttempts: 40,
  })
})

test.each<[keyof typeof consumeOptionKinds, readonly unknown[], readonly unknown[]]>([
  ['from', ['beginning', 'now'], ['then', 1]],
  ['concurrency', [1], [0, 1.5, '1']],
  ['pollMs', [10, 1_000], [9.9, Infinity, NaN, '10']],
  ['leaseMs', [100, 300_000], [99, 300_001, NaN]],
  ['retryMs', [0, 1], [-1, Infinity]],
  ['maxAttempts', [1], [0]],
  ['onError', [() => {}], [1]],
])('the option %s', (name, good, bad) => {
  const { fits } = consumeOptionKinds[name]
  expect(good.map((value) => fits(value))).toEqual(good.map(() => true))
  expect(bad.map((value) => fits(value))).toEqual(bad.map(() => false))
})

const kindOf = (name: string, ...names: readonly string[]): ConsumedKind => ({
  name,
  shape: { names: [name, ...names] },
  in: () => ({ itemOf: () => undefined }),
})
const [post, page] = [kindOf('post', 'entry'), kindOf('page')]

test('kinds of a consumer are one or more, each with a name, the names of its entities, and its collections', () => {
  const { fits } = kindsOption
  expect([fits([post]), fits([post, page])]).toEqual([true, true])
  const { name, shape } = post
  const bad: readonly unknown[] = [
    undefined,
    post,
    [],
    [post, post],
    [post, kindOf('entry')],
    [post, null],
    [{ name, shape }],
    [{ ...post, name: 1 }],
    [{ ...post, shape: null }],
    [{ ...post, shape: { names: 'post' } }],
  ]
  expect(bad.map((value) => fits(value))).toEqual(bad.map(() => false))
})

test.each<[readonly string[] | undefined, readonly ConsumedKind[] | undefined, string | undefined]>([
  [undefined, undefined, undefined],
  [['page', 'post'], [post, page], undefined],
  [['entry'], [post], undefined],
  [undefined, [post], 'for entities of all kinds, and was started for entities of the kinds post.'],
  [['post'], undefined, 'for entities of the kinds post, and was started for entities of all kinds.'],
  [['post', 'page'], [post], 'of the kinds post, page, and was started for entities of the kinds post.'],
  [['post'], [post, page], 'of the kinds post, and was started for entities of the kinds post, page.'],
])('a consumer that is registered for %j keeps its kinds: %#', (registered, kinds, message) => {
  const require = (): void => requireKinds('search', registered, kinds)
  if (message === undefined) expect(require).not.toThrow()
  else expect(require).toThrow(message)
})

describe('the end of a consumer', () => {
  let search: Search
  let store: DataStore

  beforeEach(async () => {
    search = await Search.begin()
    store = await search.openStore()
  })
  afterEach(() => search.end(store))

  test('a stop resolves only after the places are saved and the leases released', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let isReleasing = false
    search.plan = ({ operation, args }) => {
      if (operation !== 'saveAll' || args[2] !== 0) return undefined
      isReleasing = true
      return { before: () => held }
    }
    const consumer = search.start(store, () => {}, {})
    await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
    let isStopped = false
    const stopped = consumer.stop().then(() => (isStopped = true))
    await until(() => isReleasing)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isStopped).toBe(false)
    release()
    await stopped
  })

  test('an error of a shard that comes after the stop is told to nobody', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    let isAsked = false
    search.plan = ({ operation, args }) => {
      if (operation !== 'loadAll' || !JSON.stringify(args[0]).includes('/dead')) return undefined
      isAsked = true
      return { before: () => held.then(() => gone.before!()) }
    }
    const errors: unknown[] = []
    const consumer = search.start(store, () => {}, { onError: (error) => void errors.push(error) })
    await until(() => isAsked)
    const stopped = consumer.stop()
    release()
    await stopped
    expect(errors).toEqual([])
  })

  test('a consumer of a closed store ends with CLOSED, and warns of nothing', async () => {
    const warnings: string[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    const closed = await DataStore.open({ shards: memoryShards(1), migrate: true, onWarning })
    await closed.close()
    const errors: unknown[] = []
    const options: ConsumeOptions = { from: 'now', pollMs: 10 }
    const silent = consume(closed, 'silent', () => {}, options)
    const told = consume(closed, 'told', () => {}, {
      ...options,
      onError: (error) => void errors.push(error),
    })
    await until(() => [silent, told].every((consumer) => !consumer.status().isRunning))
    expect([errors.length, warnings]).toEqual([1, []])
    expect(errors).toMatchObject([{ code: 'CLOSED' }])
  })

  test('an end that onError has got is no warning', async () => {
    const warnings: string[] = []
    const errors: unknown[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    await using warned = await DataStore.open({ shards: keepOpen(search.memory), onWarning })
    await using consumer = consume(warned, 'unknown', () => {}, {
      onError: (error) => void errors.push(error),
    })
    await until(() => !consumer.status().isRunning)
    expect(errors).toMatchObject([{ code: 'BAD_OPTION' }])
    expect(warnings).toEqual([])
  })
})

describe('a running consumer', () => {
  const SECOND = 1_000
  let hours: Hours
  let process: Process
  let events: { readonly [count: string]: unknown }[]

  beforeEach(async () => {
    hours = new Hours()
    events = []
    process = await hours.start({
      observer: { happened: (event) => void (event.kind === 'consumed' && events.push({ ...event })) },
    })
  })
  afterEach(() => hours.end())

  const sum = (count: string): number => events.reduce((total, event) => total + Number(event[count]), 0)

  test('the events of a consumer add up to its counts', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async (_, n) => (await process.store.put({ n })).id),
    )
    const consumer = process.consume(
      ({ id }) => {
        if (id !== ids[0]) throw new Error('down')
      },
      { maxAttempts: 3, retryMs: SECOND },
    )
    await hours.pass(20 * SECOND)
    const counts = { handled: 1, failed: 12, deadLettered: 4 }
    expect(consumer.status()).toMatchObject(counts)
    expect({
      handled: sum('handled'),
      failed: sum('failed'),
      deadLettered: sum('deadLettered'),
    }).toEqual(counts)
    const shards = consumer.status().shards
    expect(shards.map(({ number, partitions }) => [number, partitions])).toEqual([
      [0, 8],
      [1, 8],
    ])
    const shardOf = (id: string): number => process.store.context.router.shardOfId(parseId(id))
    expect(shards.map(({ deadLettered }) => deadLettered)).toEqual(
      [0, 1].map((shard) => ids.slice(1).filter((id) => shardOf(id) === shard).length),
    )
  })

  test('an idle consumer reads its partitions and saves its places, and needs no other task', async () => {
    process.consume(() => {}, {})
    await hours.pass(10 * SECOND)
    const operations = new Set<string>()
    hours.plan = ({ table, operation }) => void (table === 'tasks' && operations.add(operation))
    await hours.pass(30 * SECOND)
    expect([...operations].toSorted()).toEqual(['loadAll', 'saveAll'])
  })
})
