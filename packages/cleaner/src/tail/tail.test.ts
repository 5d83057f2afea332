import { parseId } from '@looseleaf/core'
import { wrapShard } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { watchedDriver } from '../../test/broken-driver.ts'
import {
  addRow,
  byUser,
  expectedRows,
  openStore,
  QUERY_TIME_MS,
  removeRow,
  rowFor,
  rowsIn,
  found,
} from '../../test/stores.ts'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { cleanableIndexes, indexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { createTail, type Tail, type TailOptions } from './tail.ts'

/** Time for which lost rows are kept, in milliseconds. */
const KEPT_MS = 1.1 * QUERY_TIME_MS

const settings: TailOptions = {
  owner: 'first',
  leaseMs: 30_000,
  rowsPerRound: 1_000,
  lookBackMs: 3_600_000,
  maxLagMs: 86_400_000,
}

function tailOf(store: DataStore, options: Partial<TailOptions> = {}): Tail {
  return createTail(store.context, 0, { ...settings, ...options })
}

async function roundOf(store: DataStore, tail: Tail, graceMs?: number) {
  const pass = createPass(store.context, { graceMs, pageSize: 4 })
  const targets = cleanableIndexes(store.context).map((entry) => indexTarget(store.context, entry))
  const looked = await tail.round(pass, targets)
  return { looked, ...pass.tally }
}

async function oneShard(time = leapingTime()): Promise<DataStore> {
  return openStore({ shards: 1, time, indexes: [byUser] })
}

test('a round repairs the rows of recent writes in both directions, and the next one has no work', async () => {
  const time = leapingTime()
  const store = await oneShard(time)
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  await store.put({ user_id: 'bob', published: 2 })
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version))
  const tail = tailOf(store)
  expect(await roundOf(store, tail)).toMatchObject({ looked: 2, added: 1, removed: 0 })
  expect(await rowsIn(store, 'by_user')).toHaveLength(3)
  // The lost row is first left to its writer, then kept for queries.
  time.leap(KEPT_MS + 1_000)
  expect(await roundOf(store, tail)).toMatchObject({ removed: 0 })
  time.leap(KEPT_MS)
  expect(await roundOf(store, tail)).toMatchObject({ removed: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(await roundOf(store, tail)).toMatchObject({ looked: 0, entities: 0 })
  await store.put({ user_id: 'ada', published: 3 }, { id })
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1 })
})

test('a round works on deleted entities too', async () => {
  const store = await oneShard()
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await store.delete(id)
  await store.settled()
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'ada', published: 1 }, version))
  expect(await roundOf(store, tailOf(store))).toMatchObject({ removed: 1 })
})

test('later rounds read the updates that a round had no time for, newest first', async () => {
  const store = await oneShard()
  for (let i = 0; i < 30; i++) {
    const bag = { user_id: 'ada', published: i }
    const { id } = await store.put(bag)
    await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  }
  const tail = tailOf(store, { rowsPerRound: 8 })
  expect(await roundOf(store, tail)).toMatchObject({ looked: 8, added: 8 })
  expect(tail.lagMs).toBeGreaterThan(0)
  const newest = await found(store, byUser, { user_id: 'ada', published: { gte: 22 } })
  expect(newest).toHaveLength(8)
  let rounds = 1
  while (tail.lagMs > 0) {
    await roundOf(store, tail)
    rounds++
  }
  // Each round reads eight entities.
  expect(rounds).toBeGreaterThanOrEqual(4)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a row that is too young to be judged is revisited', async () => {
  const time = leapingTime()
  const store = await oneShard(time)
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version + 1))
  const tail = tailOf(store)
  expect(await roundOf(store, tail)).toMatchObject({ postponed: 1, removed: 0 })
  time.leap(30_000)
  expect(await roundOf(store, tail)).toMatchObject({ looked: 0 })
  time.leap(31_000)
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1, fenced: 1, removed: 0 })
  time.leap(KEPT_MS)
  expect(await roundOf(store, tail)).toMatchObject({ removed: 1 })
})

test('one process follows a shard, and another resumes at its saved place', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, time: leapingTime(), indexes: [byUser] })
  const other = await openStore({ driver, time: leapingTime() })
  const [first, second] = [tailOf(store), tailOf(other, { owner: 'second' })]
  expect(await roundOf(store, first)).toMatchObject({ looked: 0 })
  expect(await roundOf(other, second)).toMatchObject({ looked: undefined })
  expect([first.isMine, second.isMine]).toEqual([true, false])
  await first.release()
  await store.put({ user_id: 'ada', published: 1 })
  expect(await roundOf(other, second)).toMatchObject({ looked: 1 })
  expect(await roundOf(store, first)).toMatchObject({ looked: undefined })
})

test('a failed round is repeated', async () => {
  const driver = await memoryShards(1).connect()
  const inner = await openStore({ driver, indexes: [byUser] })
  const bag = { user_id: 'ada', published: 1 }
  const { id } = await inner.put(bag)
  await removeRow(inner, 'by_user', rowFor(inner, 'by_user', id, bag, 0))
  let isBroken = true
  const store = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (isBroken && method === 'upsert') throw new Error('broken')
    }),
    indexes: [byUser],
  })
  const tail = tailOf(store)
  await expect(roundOf(store, tail)).rejects.toThrow('broken')
  isBroken = false
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1, added: 1 })
})

test('after the server may have restarted, a round reads the updates of the round before again', async () => {
  const memory = await memoryShards(1).connect()
  let opened = 1
  const connections = () => ({ open: 1, opened, idle: 0, limit: 1, waiting: 0, refusal: undefined })
  const shard = wrapShard(memory.shards[0]!, { shard: () => ({ connections }) })
  let onPage = (): void => {}
  const store = await openStore({
    driver: faultyDriver({ shards: [shard], close: () => memory.close() }, ({ operation }) =>
      operation === 'pageByUpdated' ? { before: () => onPage() } : undefined,
    ),
    indexes: [byUser],
  })
  const tail = tailOf(store)
  const put = () => store.put({ user_id: 'ada', published: 1 })
  await put()
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1 })
  await put()
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1 })
  // By raising the floor, this round proves only the round before it.
  await put()
  opened++
  expect(await roundOf(store, tail)).toMatchObject({ looked: 2 })
  expect(await roundOf(store, tail)).toMatchObject({ looked: 0 })
  // A round in which the server may have restarted proves nothing.
  await put()
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1 })
  await put()
  onPage = () => void opened++
  expect(await roundOf(store, tail)).toMatchObject({ looked: 1 })
  onPage = () => {}
  expect(await roundOf(store, tail)).toMatchObject({ looked: 2 })
})

test('a copy of a move is compared by the state at its owner, and entities of the shard by the page', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver, time: leapingTime(), indexes: [byUser] })
  const bag = { user_id: 'ada', published: 1 }
  const [own, copied] = [idOn(store, 0), idOn(store, 1)]
  await store.put(bag, { id: own })
  const { version } = await store.put(bag, { id: copied })
  // The move brings an early state to shard 0, as long as shard 1 serves the bucket.
  const moves = [{ id: 1, from: 1, to: 0, buckets: '2048-4095', phase: 'both' as const }]
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: layout!.revision + 1, moves },
  }))
  await store.context.catalog.reload()
  const { epoch } = (await driver.shards[0]!.catalog.load())!
  const body = store.context.codec.encode({ user_id: 'eve', published: 9 })
  await driver.shards[0]!.entities.insert([{ id: parseId(copied), version: version - 1, body }], { epoch })
  const reads: string[] = []
  const watched = faultyDriver(driver, ({ shard, operation, args }) => {
    if (operation === 'readBounded') reads.push(`${shard} ${(args[0] as unknown[]).length}`)
    return undefined
  })
  const tailing = await openStore({ driver: watched, time: leapingTime(), indexes: [byUser] })
  expect(await roundOf(tailing, tailOf(tailing))).toMatchObject({ looked: 2, added: 0, postponed: 0 })
  // One statement for each owner.
  expect(reads.toSorted()).toEqual(['0 1', '1 1'])
})
