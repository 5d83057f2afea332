import { unionOfRanges } from '@looseleaf/core/internal'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseId } from '@looseleaf/core'
import { emptySources, moveBuckets } from '@looseleaf/mover/internal'
import { loadOwn } from '@looseleaf/protocol/internal'
import {
  cleanIndex,
  consume,
  DataStore,
  dropConsumer,
  LooseleafError,
  memoryShards,
  readCleanerReport,
  readConsumers,
  type DataStoreOptions,
  type Driver,
} from '../src/index.ts'
import { bagOf, byGroup, byUser, indexes, take } from './removals.ts'

const unavailable = (number: number): LooseleafError => {
  const shard = `memory ${number}`
  return new LooseleafError('SHARD_UNAVAILABLE', `${shard} is switched off.`, { shard })
}

let memory: Driver
let store: DataStore

beforeEach(async () => {
  memory = await memoryShards(3).connect()
  store = await openOn(memory, { migrate: true, queryTimeMs: 500 })
  await store.putMany(Array.from({ length: 40 }, (_, n) => bagOf(n)))
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

const openOn = (driver: Driver, options: Partial<DataStoreOptions> = {}): Promise<DataStore> =>
  DataStore.open({ shards: keepOpen(driver), indexes, time: leapingTime(), ...options })

const stateOf = async (number: number): Promise<string> => (await store.shards.list())[number]!.state

test('a removal fails no call of a process that slept through it and the moves before', async () => {
  const number = 0
  let isDown = false
  const sent: string[] = []
  let last = 100
  const open = (): Promise<DataStore> =>
    openOn(
      faultyDriver(memory, ({ shard, table, operation }) => {
        if (!isDown || shard !== number) return undefined
        sent.push(`${table} ${operation}`)
        return { before: () => Promise.reject(unavailable(number)) }
      }),
    )
  const calls: ((sleeper: DataStore) => Promise<unknown>)[] = [
    async (sleeper) => expect(await sleeper.getMany([...ids])).not.toContain(undefined),
    (sleeper) => Promise.all(ids.map((id) => sleeper.exists(id))),
    (sleeper) => sleeper.putMany(Array.from({ length: 30 }, () => bagOf(++last))),
    (sleeper) => Promise.all(ids.map((id) => sleeper.update(id, (bag) => ({ ...bag, group: 'new' })))),
    async (sleeper) => expect(await byUser.getAll(sleeper, { user: 'user 1' })).not.toHaveLength(0),
    async (sleeper) => expect((await take(sleeper, 'beginning', 40)).length).toBe(40),
    (sleeper) => Array.fromAsync(sleeper.scan()),
    (sleeper) => cleanIndex(sleeper),
  ]
  const ids = (await Array.fromAsync(store.scan())).map(({ id }) => id)
  const sleepers = await Promise.all(calls.map(open))
  await store.shards.drain(number)
  await store.shards.remove(number)
  isDown = true
  for (const [place, call] of calls.entries()) {
    const sleeper = sleepers[place]!
    await call(sleeper)
    sent.length = 0
    for (const other of calls.slice(0, 5)) await other(sleeper)
    expect([place, ...sent]).toEqual([place])
  }
  await Promise.all(sleepers.map((sleeper) => sleeper.close()))
})

test.each([
  [7, 'BAD_OPTION', /no shard 7/],
  [-1, 'BAD_OPTION', /number of a shard|no shard/],
  ['1', 'BAD_OPTION', /number of a shard|no shard/],
])('a removal of the shard %j is refused', async (number, code, message) => {
  await expect(store.shards.remove(number as number)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
})

test('a refused removal names everything for which the shard is still needed, and changes nothing', async () => {
  const before = await memory.shards[0]!.catalog.load()
  await expect(store.shards.remove(1)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(
      /^Shard 1, memory 1, .*: it has 1,\d+ buckets: move them to other shards first \(call shards\.drain\(1\)\); its table of entities is not empty\.$/,
    ),
  })
  await expect(store.shards.remove(1, { dryRun: true })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await memory.shards[0]!.catalog.load()).toEqual(before)
})

test('a removal is refused until the moves from and to the shard are over', async () => {
  const stopped = new AbortController()
  const { layout } = store.context.catalog.current()
  const move = moveBuckets(
    store,
    { from: 0, to: 1, buckets: layout!.shards[0]!.buckets! },
    { signal: stopped.signal, onProgress: () => stopped.abort() },
  )
  await expect(move).rejects.toMatchObject({ code: 'ABORTED' })
  for (const number of [0, 1])
    await expect(store.shards.remove(number)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/move \d+ is not over(?!.*whose record)/),
    })
})

test('a change of the catalog at any step of the removal of the leading shard is kept', async () => {
  const value = (step: number): number => 3_600_000 + step
  for (let step = 1, isReached = true; isReached; step++) {
    isReached = false
    const fresh = await memoryShards(3).connect()
    const other = await openOn(fresh, { migrate: true })
    // The leading shard has no entities, so its buckets need no move.
    await changeCatalogContents(other.context.driver, (contents) => {
      const layout = contents.layout!
      const [first, second, third] = layout.shards.map(({ buckets }) => buckets!)
      const buckets = ['', unionOfRanges(first!, second!), third]
      const shards = layout.shards.map((shard, number) => ({ ...shard, buckets: buckets[number] }))
      return { ...contents, layout: { ...layout, revision: layout.revision + 1, shards } }
    })
    let left = Infinity
    const change = async (): Promise<void> => {
      isReached = true
      await changeCatalogContents(other.context.driver, (contents) => ({
        ...contents,
        keepTombstonesMs: value(step),
      }))
    }
    const removing = await openOn(
      faultyDriver(fresh, ({ operation }) =>
        ['load', 'change', 'flush'].includes(operation) && --left === 0 ? { before: change } : undefined,
      ),
    )
    left = step
    await removing.shards.remove(0)
    for (const number of [1, 2]) {
      const { layout, keepTombstonesMs } = (await fresh.shards[number]!.catalog.load())!
      expect([step, layout!.shards[0]!.state]).toEqual([step, 'removed'])
      if (isReached) expect([step, keepTombstonesMs]).toEqual([step, value(step)])
    }
    await Promise.all([removing.close(), other.close()])
    await fresh.close()
  }
})

test('a removal of the leading shard is refused while an index is being filled', async () => {
  await store.shards.drain(0)
  await store.addIndex(byGroup)
  const error = { code: 'CONFLICT', message: expect.stringMatching(/index by_group is being filled/) }
  await expect(store.shards.remove(0)).rejects.toMatchObject(error)
  await cleanIndex(store)
  await store.shards.remove(0, { dryRun: true })
  expect(await stateOf(0)).toBe('draining')
  await store.shards.remove(0)
  expect(await stateOf(0)).toBe('removed')
})

test('a cleaning that the removal of the leading shard meets is done again on the other shards', async () => {
  await store.shards.drain(0)
  let isDue = false
  const plan: FaultPlan = ({ operation, shard }) => {
    if (!isDue || operation !== 'pageByAdded' || shard !== 1) return undefined
    isDue = false
    return {
      async before() {
        await store.shards.remove(0)
        await cleaning.context.catalog.reload()
      },
    }
  }
  const cleaning = await openOn(faultyDriver(memory, plan))
  isDue = true
  const cleaned = await cleanIndex(cleaning)
  expect(isDue).toBe(false)
  expect(cleaned).toMatchObject({ complete: true, added: 0, removed: 0 })
  expect(cleaned.indexes.map(({ entities }) => entities)).toEqual([40, 40, 40, 40])
  const { indexes: reports } = await readCleanerReport(store)
  expect(reports.map(({ lastRun }) => lastRun?.tally.entities)).toEqual([40, 40, 40, 40])
  await cleaning.close()
})

test('a removal is refused while a consumer has dead letters on the shard', async () => {
  await store.shards.drain(1)
  const consumer = consume(store, 'search', () => {}, { from: 'beginning' })
  await expect.poll(() => readConsumers(store)).toHaveLength(1)
  const { tasks } = memory.shards[1]!
  await tasks.claim('consume/search/3/dead', 'test', 1_000)
  await tasks.save('consume/search/3/dead', 'test', '{"letters":[{}]}', 0)
  await expect(store.shards.remove(1)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(
      /consumer search has 1 dead letter there: replay or discard it \(looseleaf consumer letters search --replay\)/,
    ),
  })
  await consumer.stop()
  await dropConsumer(store, 'search')
  await store.shards.remove(1)
})

test('a refused removal names pending rows, and changes that a consumer has failed to handle or not handled', async () => {
  const consumer = consume(store, 'search', () => {}, { from: 'beginning' })
  await expect.poll(() => readConsumers(store)).toHaveLength(1)
  await consumer.stop()
  const written = await store.putMany(Array.from({ length: 40 }, (_, n) => bagOf(40 + n)))
  expect(await store.shards.drain(1)).toMatchObject([{ state: 'emptying' }, { state: 'emptying' }])
  const { tasks, pending, catalog } = memory.shards[1]!
  await tasks.claim('consume/search/3/moved', 'test', 1_000)
  await tasks.save('consume/search/3/moved', 'test', '{"letters":[{}]}', 0)
  await pending.add([{ entityId: parseId(written[0]!.id), table: 'index_by_user', version: 1 }], {
    epoch: (await catalog.load())!.epoch,
  })
  await expect(store.shards.remove(1)).rejects.toMatchObject({
    message: expect.stringMatching(
      /; its table of pending rows is not empty; consumer search has not handled all of its changes; consumer search has 1 failing change there\.$/,
    ),
  })
})

test('a removal is refused while a source still has entities of a move to the shard', async () => {
  let isDenied = true
  const mover = await openOn(
    faultyDriver(memory, ({ shard, operation }) =>
      isDenied && shard === 0 && operation === 'discard'
        ? {
            before() {
              throw new LooseleafError('SHARD_DENIED', 'The server denies it (a fault on purpose).')
            },
          }
        : undefined,
    ),
  )
  const moveAll = async (from: number, to: number): Promise<unknown> => {
    const { serves } = await loadOwn(store.context, from, {})
    return moveBuckets(mover, { from, to, buckets: serves.owns })
  }
  await expect(moveAll(0, 1)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  await moveAll(1, 2)
  await expect(store.shards.remove(1)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/shard 0 still has entities of move 1, whose record is on this shard\.$/),
  })
  await expect(store.shards.remove(0)).rejects.toMatchObject({
    message: expect.stringMatching(/nothing was changed: its table of entities is not empty\.$/),
  })
  isDenied = false
  expect(await emptySources(mover.context, {})).toMatchObject([{ id: 1, state: 'done' }])
  await store.shards.remove(1)
  await store.shards.remove(0)
  await mover.close()
})

test('a removal rejects while a shard does not answer that may be the only one to know a consumer', async () => {
  await store.shards.drain(1)
  const faulty = await openOn(
    faultyDriver(memory, ({ shard, table, operation, args }) =>
      shard === 2 && table === 'tasks' && operation === 'load' && args[0] === 'consumers'
        ? { before: () => Promise.reject(unavailable(2)) }
        : undefined,
    ),
  )
  await expect(faulty.shards.remove(1)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await stateOf(1)).toBe('draining')
  await faulty.close()
})
