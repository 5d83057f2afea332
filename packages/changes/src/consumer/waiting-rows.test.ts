import { isLooseleafError, LooseleafError, parseId, type EntityId, type Time } from '@looseleaf/core'
import { entitiesIn, PARTITIONS, placeAt, type Turn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime, steppedTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search, until } from '../../test/search.ts'
import type { ChangedEntity } from './changed-entity.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createWaitingRows } from './waiting-rows.ts'

const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let search: Search
let store: DataStore
let mover: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  mover = await DataStore.open({ shards: keepOpen(search.memory), time: leapingTime() })
})
afterEach(async () => {
  await mover.close()
  await search.end(store)
})

test('a change of an entity that has moved waits while its former shard cannot be asked for earlier ones', async () => {
  const isIn = entitiesIn(store.context, PLAN.buckets)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  const { version } = await store.put({ n: 1 }, { id })
  const handled: number[] = []
  search.start(store, (change) => void handled.push(change.version), { onError: () => {} })
  await until(() => handled.length === 1)
  let pages = 0
  search.plan = ({ shard, table, operation }) => {
    if (shard === 1 && operation === 'pageOfChanges') pages++
    return shard === 0 && table === 'catalog' && operation === 'load' ? gone : undefined
  }
  await mover.shards.move(PLAN)
  const { version: later } = await mover.put({ n: 2 }, { id })
  const before = pages
  await until(() => pages >= before + 3)
  expect(handled).toEqual([version])
  search.plan = () => undefined
  await until(() => handled.length > 1)
  expect(handled).toEqual([version, later])
})

test.each([
  ['does not answer', undefined],
  ['is denied', 'SHARD_DENIED'],
  ['has a damaged catalog', 'CATALOG_DAMAGED'],
] as const)(
  'a former shard that %s holds up only the partition with a change of an entity that has moved from it',
  async (_, code) => {
    const isIn = entitiesIn(store.context, PLAN.buckets)
    let id = store.newId()
    while (!isIn(parseId(id))) id = store.newId()
    await store.put({ n: 1 }, { id })
    const handled = new Map<EntityId, number[]>()
    const handle = ({ id: of, version }: ChangedEntity): void =>
      void handled.set(of, [...(handled.get(of) ?? []), version])
    const errors: unknown[] = []
    search.start(store, handle, { onError: (error) => void errors.push(error) })
    await until(() => handled.size === 1)
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    let isAsked = false
    search.plan = ({ shard, table, operation }) => {
      if (shard !== 0 || table !== 'catalog' || operation !== 'load') return undefined
      isAsked = true
      if (code === undefined) return { before: () => answered }
      throw new LooseleafError(code, 'gone')
    }
    await mover.shards.move(PLAN)
    const { version } = await mover.put({ n: 2 }, { id })
    await until(() => isAsked)
    const ids = Array.from({ length: 40 }, () => idOn(mover, 1)).filter((other) => !isIn(parseId(other)))
    for (const other of ids) await mover.put({ n: 3 }, { id: other })
    const rows = await search.memory.shards[1]!.entities.checksums([id, ...ids].map(parseId))
    const [held, ...partitions] = rows.map((row) => row!.addedId % PARTITIONS)
    const others = ids.filter((_, i) => partitions[i] !== held)
    await until(() => others.every((other) => handled.has(other)))
    expect(ids.filter((other) => handled.has(other))).toEqual(others)
    expect(handled.get(id)).toHaveLength(1)
    expect(new Set(errors.map((error) => isLooseleafError(error) && error.code))).toEqual(
      new Set(code === undefined ? [] : [code]),
    )
    search.plan = () => undefined
    answer()
    await until(() => ids.every((other) => handled.has(other)) && handled.get(id)!.length > 1)
    expect(handled.get(id)!.at(-1)).toBe(version)
  },
)

test('a failing change waits for the answer of another shard, which is asked once meanwhile, and again after an error', async () => {
  const change = { id: store.newId(), version: 1, attempts: 1, error: '', failedAt: 1 }
  const answers: PromiseWithResolvers<boolean>[] = []
  let isKnown = false
  const isNext = (): boolean | Promise<boolean> => {
    if (isKnown) return true
    answers.push(Promise.withResolvers<boolean>())
    return answers.at(-1)!.promise
  }
  const waiting = createWaitingRows(store.context.time, { isNext, turnOf: () => 'give' }, () => {})
  expect([waiting.mayRetry(change), waiting.mayRetry(change), answers.length]).toEqual([false, false, 1])
  answers[0]!.reject(new Error('gone'))
  await until(() => !waiting.mayRetry(change) && answers.length === 2)
  isKnown = true
  expect(waiting.mayRetry(change)).toBe(false)
  answers[1]!.resolve(true)
  await until(() => waiting.mayRetry(change))
})

const partitionOf = (number: number): HeldPartition => ({
  number,
  place: placeAt(0),
  since: 0,
  failing: new Map(),
  isHeld: true,
})

test('an error of another shard that comes after its rows have begun to wait is reported, and the shard is asked again', async () => {
  const time = steppedTime()
  const partition = partitionOf(0)
  const row = { id: parseId(store.newId()), updated: 1, addedId: 1 }
  const answers: PromiseWithResolvers<Turn>[] = []
  const turnOf = (): Promise<Turn> => {
    answers.push(Promise.withResolvers<Turn>())
    return answers.at(-1)!.promise
  }
  const errors: unknown[] = []
  const waits: (AbortSignal | undefined)[] = []
  const sleeping: Time = {
    ...time,
    sleep(milliseconds, signal) {
      waits.push(signal)
      return time.sleep(milliseconds, signal)
    },
  }
  const waiting = createWaitingRows(
    sleeping,
    { isNext: () => true, turnOf },
    (error) => void errors.push(error),
  )
  const chosen = waiting.choose([row], () => partition)
  await time.step(100)
  expect(await chosen).toEqual([])
  expect(await waiting.open([partition])).toEqual([])
  expect([answers.length, errors]).toEqual([1, []])
  const damaged = new LooseleafError('CATALOG_DAMAGED', 'gone')
  answers[0]!.reject(damaged)
  await until(() => errors.length > 0)
  const opened = waiting.open([partition])
  expect([answers.length, errors]).toEqual([2, [damaged]])
  answers[1]!.resolve('give')
  expect(await opened).toEqual([partition])
  expect(waiting.placeBefore(partition)).toBeUndefined()
  // No wait outlasts its answer.
  expect(waits.map((signal) => signal?.aborted)).toEqual([true, true])
})

test('the rows of a page wait for other shards for 100 ms together', async () => {
  const time = steppedTime()
  const rows = [1, 2, 3].map((addedId) => ({ id: parseId(store.newId()), updated: 1, addedId }))
  const partitions = rows.map(({ addedId }) => partitionOf(addedId))
  const never = new Promise<Turn>(() => {})
  const turnOf = ({ addedId }: { readonly addedId: number }): Turn | Promise<Turn> =>
    addedId === 3 ? 'give' : never
  const waiting = createWaitingRows(time, { isNext: () => true, turnOf }, () => {})
  let isOver = false
  const chosen = waiting.choose(rows, ({ addedId }) => partitions[addedId - 1]!)
  void chosen.then(() => (isOver = true))
  await time.step(99)
  await time.step(0)
  expect(isOver).toBe(false)
  await time.step(1)
  await time.step(0)
  expect(isOver).toBe(true)
  expect(await chosen).toEqual([rows[2]])
  expect(partitions.map((partition) => waiting.placeBefore(partition)?.addedId)).toEqual([0, 1, undefined])
})
