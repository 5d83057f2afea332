import { parseId } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { watchedDriver } from '../../test/broken-driver.ts'
import { addRow, byUser, expectedRows, openStore, rowFor, rowsIn, tableOf, found } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { sweep } from '../sweep/sweep.ts'
import { sweepIndex } from '../../test/sweeps.ts'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { farRouter } from '@looseleaf-tooling/kit/far-router'

const eve = { user_id: 'eve', published: 1 }

test('a row stamped later than its entity is left alone during the grace period, then the entity is fenced and the row deleted', async () => {
  const time = leapingTime()
  const store = await openStore({ time })
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + 10))

  expect(await sweepIndex(store)).toMatchObject({ postponed: 1, removed: 0, fenced: 0 })
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
  time.leap(61_000)
  expect(await sweepIndex(store)).toMatchObject({ postponed: 0, removed: 1, fenced: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))

  const { driver, router } = store.context
  const shard = driver.shards[router.shardOfId(parseId(id))]!
  expect((await shard.entities.readVersions([parseId(id)]))[0]).toBeGreaterThan(version + 10)
  expect(await store.get(id)).toEqual({ id, user_id: 'ada', published: 1 })
})

test('older dangling rows are deleted in the same sweep although a fence raised the version', async () => {
  const store = await openStore()
  const { id, version } = await store.put({ user_id: 'ada', published: 1, tags: ['a'] })
  const tagged = { tags: ['b'] }
  await addRow(store, 'by_tag', rowFor(store, 'by_tag', id, tagged, version - 1))
  const bob = { user_id: 'bob', published: 1 }
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, bob, version - 1))
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + 10))
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ removed: 3, fenced: 1 })
  for (const name of ['by_user', 'by_tag'])
    expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
})

test('a tombstone is the fence of an id without an entity', async () => {
  const store = await openStore()
  const id = store.newId()
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, Date.now() * 1000))
  expect(await sweepIndex(store)).toMatchObject({ postponed: 1, fenced: 0 })
  expect(await sweepIndex(store, { graceMs: 0 })).toMatchObject({ fenced: 1, removed: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual([])
  const { driver, router } = store.context
  const [row] = await driver.shards[router.shardOfId(parseId(id))]!.entities.read([parseId(id)])
  expect(row).toMatchObject({ body: null })
  // The id can be used again.
  expect(await store.insert(eve, { id })).toMatchObject({ created: true })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a stamp further ahead than the grace period is fenced at once', async () => {
  const store = await openStore()
  const { id } = await store.put({ user_id: 'ada', published: 1 })
  const stamp = (Date.now() + 365 * 86_400_000) * 1000
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, stamp))
  expect(await sweepIndex(store)).toMatchObject({ fenced: 1, removed: 1 })
  const { version } = await store.put({ user_id: 'ada', published: 2 }, { id })
  expect(version).toBeGreaterThan(stamp)
  await store.settled()
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test.each(['update', 'create'] as const)(
  'a writer that was paused before its commit loses to the fence, starts again and is found (%s)',
  async (kind) => {
    const driver = await memoryShards(2).connect()
    const router = farRouter()
    const store = await openStore({ driver, router })
    const id = store.newId()
    if (kind === 'update') await store.put({ user_id: 'ada', published: 1 }, { id })

    const commits: string[] = []
    const reached = Promise.withResolvers<void>()
    const resume = Promise.withResolvers<void>()
    const paused = await openStore({
      router,
      driver: watchedDriver(driver, async (_, method) => {
        if (method !== 'insert' && method !== 'replace') return
        commits.push(method)
        if (commits.length > 1) return
        reached.resolve()
        await resume.promise
      }),
    })
    const write = paused.put(eve, { id })
    await reached.promise
    expect(await sweep(store, { graceMs: 0 })).toMatchObject({ fenced: 1, removed: 1 })
    expect(await found(store, byUser, { user_id: 'eve' })).toEqual([])
    resume.resolve()
    await write
    await paused.settled()

    expect(commits.length).toBe(2)
    expect(await found(store, byUser, { user_id: 'eve' })).toHaveLength(1)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  },
)

test('a fence does not keep other lost rows of its entity from being deleted, in any index', async () => {
  const store = await openStore({ shards: 1 })
  const bag = { user_id: 'ada', published: 1, tags: ['x'] }
  const { id, version } = await store.put(bag)
  const old = { user_id: 'bob', published: 1 }
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, old, version - 1))
  await addRow(store, 'by_tag', rowFor(store, 'by_tag', id, { ...bag, tags: ['y'] }, version + 1))
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ fenced: 1, removed: 2 })
  for (const name of ['by_user', 'by_tag'])
    expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
})

test('a write that comes before the fence wins: its row stays', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore({ driver })
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + 1))
  let isFirst = true
  const cleaner = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (method !== 'replace' || !isFirst) return
      isFirst = false
      await store.put(eve, { id })
    }),
  })
  expect(await sweepIndex(cleaner, { graceMs: 0 })).toMatchObject({ fenced: 0 })
  expect(isFirst).toBe(false)
  await store.settled()
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a fence reloads the catalog after the epoch was raised', async () => {
  const driver = await memoryShards(2).connect()
  const cleaner = await openStore({ driver })
  const { id, version } = await cleaner.put({ user_id: 'ada', published: 1 })
  await addRow(cleaner, 'by_user', rowFor(cleaner, 'by_user', id, eve, version + 1))
  const other = await openStore({ driver })
  let isFirst = true
  const late = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (method !== 'replace' || !isFirst) return
      isFirst = false
      await other.dropIndex('by_tag')
    }),
  })
  expect(await sweepIndex(late, { indexes: 'by_user', graceMs: 0 })).toMatchObject({ fenced: 1, removed: 1 })
  expect(isFirst).toBe(false)
  expect(await tableOf(late, 'by_user', 0).count({ prefix: [] })).toBeLessThanOrEqual(1)
  expect(await rowsIn(other, 'by_user')).toEqual(await expectedRows(other, 'by_user'))
})
