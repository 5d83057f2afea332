import { parseId, type Bag, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, test } from 'vitest'
import { watchedDriver } from '../../test/broken-driver.ts'
import { addRow, openStore, removeRow, rowFor, rowsIn } from '../../test/stores.ts'
import { leapingTime, until } from '@looseleaf-tooling/kit/times'
import { checkIndex } from './check-index.ts'

test('a check of a correct index finds no problem', async () => {
  const store = await openStore()
  for (let i = 0; i < 30; i++) await store.put({ user_id: `user ${i % 3}`, published: i, tags: ['a', 'b'] })
  expect(await checkIndex(store, 'by_tag')).toEqual({
    index: 'by_tag',
    generation: 1,
    entities: 30,
    rows: 60,
    missing: 0,
    unclaimed: 0,
    dangling: 0,
    misplaced: 0,
    misfits: 0,
    undecodable: 0,
    unsettled: 0,
    examples: [],
  })
})

test('a check does not read entities that were written after it began', async () => {
  const inner = await memoryShards(1).connect()
  const writer = await openStore({ driver: inner })
  await writer.putMany(Array.from({ length: 1000 }, (_, i) => ({ user_id: 'ada', published: i })))
  let pages = -Infinity
  const store = await openStore({
    driver: watchedDriver(inner, async (_, method) => {
      if (method !== 'pageByAdded') return
      pages++
      // A check that reads these too ends only when no more are written.
      if (pages >= 1 && pages <= 10)
        await writer.putMany(Array.from({ length: 500 }, (_each, i) => ({ user_id: 'eve', published: i })))
    }),
  })
  pages = 0
  expect(await checkIndex(store, 'by_user')).toMatchObject({ entities: 1000, missing: 0, dangling: 0 })
})

test('missing, dangling and misplaced rows are counted, each once, and nothing is repaired', async () => {
  const store = await openStore({ time: leapingTime() })
  const ids: string[] = []
  for (let i = 0; i < 6; i++) ids.push((await store.put({ user_id: 'ada', published: i })).id)
  const [missing, dangling, ahead, moved, orphan] = [ids[0]!, ids[1]!, ids[2]!, ids[3]!, store.newId()]
  const version = Date.now() * 1000
  await removeRow(store, 'by_user', rowFor(store, 'by_user', missing, { user_id: 'ada', published: 0 }, 0))
  await addRow(store, 'by_user', rowFor(store, 'by_user', dangling, { user_id: 'eve', published: 1 }, 1))
  await addRow(
    store,
    'by_user',
    rowFor(store, 'by_user', ahead, { user_id: 'eve', published: 1 }, version * 2),
  )
  await addRow(store, 'by_user', rowFor(store, 'by_user', orphan, { user_id: 'eve', published: 1 }, version))
  const right = rowFor(store, 'by_user', moved, { user_id: 'ada', published: 3 }, 1)
  await removeRow(store, 'by_user', right)
  await addRow(store, 'by_user', { ...right, shard: 1 - right.shard })
  await store.put({ user_id: 'ada', published: 'x' })

  const before = await rowsIn(store, 'by_user')
  const result = await checkIndex(store, 'by_user')
  expect(result).toMatchObject({
    entities: 7,
    rows: 8,
    missing: 2,
    dangling: 3,
    misplaced: 1,
    misfits: 1,
    undecodable: 0,
    unsettled: 0,
  })
  expect(new Set(result.examples)).toEqual(new Set([missing, dangling, ahead, moved, orphan]))
  expect(await rowsIn(store, 'by_user')).toEqual(before)
})

test('rows of a body that cannot be decoded count as correct', async () => {
  const store = await openStore()
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  const { driver, router, catalog } = store.context
  const shard = router.shardOfId(parseId(id))
  await driver.shards[shard]!.entities.replace(
    [{ id: parseId(id), base: version, version: version + 1, body: Buffer.from('damaged') }],
    { epoch: catalog.current().epochs[shard]! },
  )
  const result = await checkIndex(store, 'by_user')
  expect(result).toMatchObject({ rows: 1, undecodable: 1, missing: 0, dangling: 0, examples: [id] })
})

test('writers between their steps cause no false alarm', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const { id } = await writer.put({ user_id: 'ada', published: 0 })
  const time = leapingTime()
  let writes = 0
  let before = Promise.resolve()
  /** Before each of the first reads of a check, a write happens or stops between two steps. */
  const store = await openStore({
    driver: watchedDriver(driver, (_, method) => {
      if (['rowsOf', 'readBounded', 'scan', 'pageByAdded'].includes(method)) before = before.then(write)
      return before
    }),
    time,
  })
  async function write(): Promise<void> {
    if (writes >= 6) return
    writes++
    await writer.put({ user_id: ['ada', 'bob', 'eve'][writes % 3]!, published: 0 }, { id })
    // This is the row of a writer that is about to commit.
    await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, { user_id: 'joe', published: 0 }, 1))
    await writer.settled()
    if (writes === 6)
      await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, { user_id: 'joe', published: 0 }, 1))
  }
  expect(await checkIndex(store, 'by_user')).toMatchObject({
    missing: 0,
    dangling: 0,
    misplaced: 0,
    unsettled: 0,
  })
  expect(writes).toBe(6)
})

/** A time that runs one of these events during each sleep. */
function eventful(events: readonly (() => Promise<unknown>)[]): Time & { readonly sleeps: number } {
  let sleeps = 0
  return {
    get sleeps() {
      return sleeps
    },
    now: () => Date.now(),
    async sleep() {
      await events[sleeps++]?.()
    },
  }
}

test('a row that dangles at two looks with different stamps does not count yet', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const eve = { user_id: 'eve', published: 1 }
  const { id, version } = await writer.put({ user_id: 'ada', published: 1 })
  await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, eve, 1))
  const time = eventful([
    // A writer takes the row over, and then commits.
    () => addRow(writer, 'by_user', rowFor(writer, 'by_user', id, eve, version + 1)),
    () => writer.put(eve, { id }).then(() => writer.settled()),
  ])
  const store = await openStore({ driver, time })
  expect(await checkIndex(store, 'by_user')).toMatchObject({ dangling: 0, unsettled: 0 })
  expect(time.sleeps).toBeGreaterThanOrEqual(2)
})

test('a row that was committed between two looks and is about to be deleted does not count as dangling', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const eve = { user_id: 'eve', published: 1 }
  const { id, version } = await writer.put({ user_id: 'ada', published: 1 })
  const row = rowFor(writer, 'by_user', id, eve, version + 1)
  await addRow(writer, 'by_user', row)
  const { router, codec, catalog } = writer.context
  const shard = router.shardOfId(parseId(id))
  const commit = (base: number, bag: Bag): Promise<unknown> =>
    driver.shards[shard]!.entities.replace(
      [{ id: parseId(id), base, version: base + 1, body: codec.encode(bag) }],
      {
        epoch: catalog.current().epochs[shard]!,
      },
    )
  const time = eventful([
    async () => {
      await commit(version, eve)
      await commit(version + 1, { user_id: 'ada', published: 1 })
    },
    () => removeRow(writer, 'by_user', row),
  ])
  expect(await checkIndex(await openStore({ driver, time }), 'by_user')).toMatchObject({
    dangling: 0,
    unsettled: 0,
  })
  expect(time.sleeps).toBe(2)
})

test('a row that is missing at two looks of different versions does not count yet', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const bag = { user_id: 'ada', published: 1 }
  const { id } = await writer.put(bag)
  const row = rowFor(writer, 'by_user', id, bag, 1)
  await removeRow(writer, 'by_user', row)
  const time = eventful([
    () => writer.put({ ...bag, title: 'Changed' }, { id }),
    () => addRow(writer, 'by_user', row),
  ])
  const store = await openStore({ driver, time })
  expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 0, unsettled: 0 })
  expect(time.sleeps).toBe(2)
})

test('an entity that is written between all looks counts as unsettled', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const { id } = await writer.put({ user_id: 'ada', published: 0 })
  await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, { user_id: 'ada', published: 0 }, 0))
  const write = async (published: number): Promise<void> => {
    await writer.put({ user_id: 'ada', published }, { id })
    await writer.settled()
    await removeRow(writer, 'by_user', rowFor(writer, 'by_user', id, { user_id: 'ada', published }, 0))
  }
  const time = eventful([1, 2, 3, 4, 5, 6, 7, 8].map((i) => () => write(i)))
  const store = await openStore({ driver, time })
  expect(await checkIndex(store, 'by_user')).toMatchObject({ missing: 0, unsettled: 1, examples: [id] })
  expect(time.sleeps).toBe(5)
})

test('a row that goes missing between two looks at the same version does not count yet', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const { id } = await writer.put({ tags: ['x', 'y'] })
  const [x, y] = ['x', 'y'].map((tag) => rowFor(writer, 'by_tag', id, { tags: [tag] }, 1))
  await removeRow(writer, 'by_tag', x!)
  const time = eventful([() => removeRow(writer, 'by_tag', y!), () => addRow(writer, 'by_tag', y!)])
  const store = await openStore({ driver, time })
  expect(await checkIndex(store, 'by_tag')).toMatchObject({ missing: 1, unsettled: 0 })
  expect(time.sleeps).toBe(2)
})

test('dangling rows of one entity on two shards count once each', async () => {
  const store = await openStore({ time: leapingTime() })
  const { id } = await store.put({ user_id: 'ada', published: 1 })
  const lost = (shard: number): ReturnType<typeof rowFor> => {
    for (let n = 0; ; n++) {
      const row = rowFor(store, 'by_user', id, { user_id: `eve ${n}`, published: 1 }, 1)
      if (row.shard === shard) return row
    }
  }
  for (const shard of [0, 1]) await addRow(store, 'by_user', lost(shard))
  expect(await checkIndex(store, 'by_user')).toMatchObject({ dangling: 2, misplaced: 0 })
})

test('a check during many concurrent writes finds no wrong row', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore({ driver })
  const ids = (
    await writer.putMany(Array.from({ length: 40 }, (_, i) => ({ user_id: 'ada', published: i })))
  ).map(({ id }) => id)
  let isOver = false
  /** Number of completed writes, including their deletes, by writer. */
  const ended = [0, 0]
  const write = async (number: number): Promise<void> => {
    for (let i = number * 7; !isOver; i++) {
      await writer.put({ user_id: `user ${i % 5}`, published: i }, { id: ids[i % ids.length]! })
      await writer.settled()
      ended[number]!++
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const time: Time = {
    now: () => Date.now(),
    // Each sleep lasts until the writes in flight have ended.
    async sleep() {
      const [first, second] = [ended[0]! + 2, ended[1]! + 2]
      await until(() => ended[0]! >= first && ended[1]! >= second)
    },
  }
  const store = await openStore({ driver, time })
  const writers = [write(0), write(1)]
  for (let round = 0; round < 5; round++) {
    expect(await checkIndex(store, 'by_user')).toMatchObject({
      entities: 40,
      missing: 0,
      dangling: 0,
      misplaced: 0,
    })
  }
  isOver = true
  await Promise.all(writers)
})

test('a check of an unknown name throws `INDEX_NOT_FOUND`, and a signal ends a check', async () => {
  const store = await openStore()
  await expect(checkIndex(store, 'no_such')).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
  await expect(checkIndex(store, 'by_tag', { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'ABORTED',
  })
})
