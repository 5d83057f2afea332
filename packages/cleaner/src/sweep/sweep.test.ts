import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import {
  addRow,
  byUser,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  tableOf,
  found,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { Problem } from '../pass/pass-options.ts'
import { sweep, tunedSweep } from './sweep.ts'
import { sweepEntities, sweepIndex } from '../../test/sweeps.ts'

const everything = { prefix: [], order: 'asc', limit: 100 } as const

test('a missing row is added with the version of its entity', async () => {
  const store = await openStore()
  const bag = { user_id: 'ada', published: 1, tags: ['x', 'y'] }
  const { id, version } = await store.put(bag)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 0))
  await removeRow(store, 'by_tag', rowFor(store, 'by_tag', id, bag, 0))
  expect(await found(store, byUser, { user_id: 'ada' })).toEqual([])

  expect(await sweepEntities(store)).toMatchObject({ entities: 1, added: 2, removed: 0 })
  expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  const { shard } = rowFor(store, 'by_user', id, bag, 0)
  const [row] = await tableOf(store, 'by_user', shard).scan(everything)
  expect(row?.version).toBe(version)
  expect(await found(store, byUser, { user_id: 'ada' })).toHaveLength(1)
})

test('a row that matches no committed entity is deleted, others stay', async () => {
  const store = await openStore()
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'bob', published: 1 }, version - 1))
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: 1 }, version))
  expect(await sweepEntities(store)).toMatchObject({ entities: 1, removed: 0 })
  expect(await sweepIndex(store)).toMatchObject({ rows: 3, removed: 2, added: 0, fenced: 0 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(await rowsIn(store, 'by_user')).toHaveLength(1)
})

test('rows of a deleted entity are deleted', async () => {
  const store = await openStore()
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  await store.delete(id)
  await store.settled()
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'ada', published: 1 }, version))
  expect(await sweep(store)).toMatchObject({ removed: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual([])
})

test('an existing row keeps its greater version', async () => {
  const store = await openStore()
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  const { shard, row } = rowFor(store, 'by_user', id, bag, version + 5)
  await addRow(store, 'by_user', { shard, row })
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ added: 0, removed: 0, fenced: 0 })
  expect(await tableOf(store, 'by_user', shard).scan(everything)).toMatchObject([{ version: version + 5 }])
})

test('a misplaced row is added on the right shard before it is deleted on the wrong one', async () => {
  const store = await openStore()
  const bag = { user_id: 'ada', published: 1 }
  const { id, version } = await store.put(bag)
  const right = rowFor(store, 'by_user', id, bag, version)
  await removeRow(store, 'by_user', right)
  await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
  expect(await sweepIndex(store)).toMatchObject({ misplaced: 1, added: 1, removed: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a sweep can be limited to one index or one shard', async () => {
  const store = await openStore()
  const bag = { user_id: 'ada', published: 1, tags: ['x'] }
  const { id } = await store.put(bag)
  for (const name of ['by_user', 'by_tag']) await removeRow(store, name, rowFor(store, name, id, bag, 0))
  const shard = store.context.router.shardOfId(parseId(id))
  expect(await sweepEntities(store, { shard: 1 - shard })).toMatchObject({ entities: 0, added: 0 })
  expect(await sweepEntities(store, { shard, indexes: 'by_tag' })).toMatchObject({ entities: 1, added: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual([])
  await expect(sweep(store, { indexes: 'no_such' })).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
  await expect(sweep(store, { shard: 7 })).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('a body that cannot be decoded is reported, its rows stay, and the pass continues', async () => {
  const store = await openStore()
  const damaged = await store.put({ user_id: 'ada', published: 1 })
  const whole = await store.put({ user_id: 'bob', published: 2 })
  await removeRow(store, 'by_user', rowFor(store, 'by_user', whole.id, { user_id: 'bob', published: 2 }, 0))
  const { driver, router, catalog } = store.context
  const number = router.shardOfId(parseId(damaged.id))
  await driver.shards[number]!.entities.replace(
    [
      {
        id: parseId(damaged.id),
        base: damaged.version,
        version: damaged.version + 1,
        body: Buffer.from([1, 2, 3]),
      },
    ],
    { epoch: catalog.current().epochs[number]! },
  )
  const problems: Problem[] = []
  const tally = await sweep(store, { onProblem: (problem) => problems.push(problem) })
  // The entity is read in both directions, but counts once.
  expect(tally).toMatchObject({ undecodable: 1, added: 1, removed: 0 })
  expect(problems).toMatchObject([
    { kind: 'undecodable', entity: damaged.id, shard: driver.shards[number]!.name },
  ])
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
})

test('an entity with an invalid version is reported, its index rows stay, and the pass continues', async () => {
  const store = await openStore()
  const bag = { user_id: 'ada', published: 1 }
  const { driver, router, catalog, codec } = store.context
  const [damaged, tombstone] = [store.newId(), store.newId()]
  for (const [id, body] of [
    [damaged, codec.encode(bag)],
    [tombstone, null],
  ] as const) {
    const number = router.shardOfId(parseId(id))
    const epoch = catalog.current().epochs[number]!
    await driver.shards[number]!.entities.insert([{ id: parseId(id), version: 0, body }], { epoch })
  }
  for (const id of [damaged, tombstone]) await addRow(store, 'by_user', rowFor(store, 'by_user', id, bag, 1))
  const whole = await store.put({ user_id: 'bob', published: 2 })
  await removeRow(store, 'by_user', rowFor(store, 'by_user', whole.id, { user_id: 'bob', published: 2 }, 0))
  const problems: Problem[] = []
  const tally = await sweep(store, { onProblem: (problem) => problems.push(problem) })
  expect(tally).toMatchObject({ undecodable: 1, added: 1, removed: 0, fenced: 0 })
  expect(problems).toMatchObject([
    {
      kind: 'undecodable',
      code: 'BODY_DAMAGED',
      entity: damaged,
      reason: expect.stringMatching(/version 0/),
    },
  ])
  expect(await rowsIn(store, 'by_user')).toHaveLength(3)
})

test('a misfit is reported with its index, property and entity, without its value', async () => {
  const store = await openStore()
  const { id } = await store.put({ user_id: 'ada', published: 'SECRET', tags: ['x'] })
  const problems: Problem[] = []
  expect(await sweep(store, { onProblem: (problem) => problems.push(problem) })).toMatchObject({ misfits: 1 })
  expect(problems).toMatchObject([{ kind: 'misfit', entity: id, index: 'by_user' }])
  expect(problems[0]?.reason).toContain('published')
  expect(JSON.stringify(problems)).not.toContain('SECRET')
})

test('a signal ends a sweep', async () => {
  const store = await openStore()
  for (let i = 0; i < 5; i++) await store.put({ user_id: 'ada', published: i })
  const controller = new AbortController()
  controller.abort()
  await expect(sweep(store, { signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  const later = new AbortController()
  const work = sweep(store, { signal: later.signal, rowsPerSecond: 0.001 })
  setImmediate(() => later.abort())
  await expect(work).rejects.toMatchObject({ code: 'ABORTED' })
})

test('`rowsPerSecond` limits a sweep', async () => {
  const time = leapingTime()
  const store = await openStore({ time, indexes: [byUser] })
  await store.putMany(Array.from({ length: 100 }, (_, i) => ({ user_id: `user ${i}`, published: i })))
  const before = time.slept
  await sweep(store, { rowsPerSecond: 50 })
  // The sweep reads 100 entities, the row of each of them, and once more all 100 rows.
  expect(time.slept - before).toBeCloseTo(6_000)
})

test('a sweep counts no entities to know its end', async () => {
  const operations = new Set<string>()
  const watched = faultyDriver(
    await memoryShards(1).connect(),
    ({ operation }) => void operations.add(operation),
  )
  const store = await openStore({ driver: watched })
  await store.put({ user_id: 'ada' })
  operations.clear()
  await sweep(store)
  expect(operations).toContain('pageByAdded')
  expect(operations).not.toContain('extent')
})

test('a sweep ends although entities are added as fast as it reads them', async () => {
  const driver = await memoryShards(1).connect()
  // Opening a store reads a page, too.
  let pages = 10
  const busy = faultyDriver(driver, ({ operation }) => {
    if (operation !== 'pageByAdded' || ++pages > 10) return undefined
    return { before: async () => void (await writer.putMany([{ user_id: 'bob' }, { user_id: 'bob' }])) }
  })
  const store = await openStore({ driver: busy })
  const writer = await openStore({ driver })
  await writer.putMany([{ user_id: 'ada' }, { user_id: 'ada' }])
  pages = 0
  await tunedSweep(store, { pageSize: 2 })
  expect(pages).toBe(1)
})
