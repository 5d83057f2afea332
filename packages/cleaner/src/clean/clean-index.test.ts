import { LooseleafError, parseId, type Driver, type Entity } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { dyingDriver, watchedDriver } from '../../test/broken-driver.ts'
import { byTag, byUser, expectedRows, openStore, removeRow, rowFor, rowsIn } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { tunedCheckIndex } from '../check/check-index.ts'
import { readCleanerReport } from '../report/cleaner-report.ts'
import { cleanIndex, type CleanOptions, tunedCleanIndex } from './clean-index.ts'
import type { CleanProgress } from './progress.ts'

const bagOf = (i: number): Record<string, string | number | string[]> => ({
  user_id: `user ${i % 7}`,
  published: i,
  tags: [`tag ${i % 3}`, `tag ${i % 5}`],
})

/** Creates a store with entities, then adds both indexes. */
async function storeToFill(entities: number, driver?: Driver): Promise<DataStore> {
  const store = await openStore({
    indexes: [],
    time: leapingTime(),
    ...(driver === undefined ? {} : { driver }),
  })
  await store.putMany(Array.from({ length: entities }, (_, i) => bagOf(i)))
  await store.addIndex(byUser)
  await store.addIndex(byTag)
  return store
}

async function firstOf(store: DataStore): Promise<Entity> {
  for await (const entity of store.scan()) return entity
  throw new Error('The store is empty.')
}

async function expectFilled(store: DataStore): Promise<void> {
  for (const name of ['by_user', 'by_tag']) {
    expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
  }
  for (const { state } of await store.indexes()) expect(state).toBe('ready')
}

test('a new index is filled, checked and made ready', async () => {
  const store = await storeToFill(50)
  await expect(store.query(byUser, { user_id: 'user 3' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
  const result = await tunedCleanIndex(store, 'by_user', { pageSize: 10 })
  expect(result.indexes).toMatchObject([
    { index: 'by_user', state: 'ready', entities: 50, added: 50, removed: 0 },
  ])
  expect((await store.query(byUser, { user_id: 'user 3' })).items).toHaveLength(7)
  await expect(store.query(byTag, { tags: 'tag 1' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
})

test('one read of the entities fills any number of indexes', async () => {
  const pagesFor = async (names: string[]): Promise<number> => {
    const driver = await memoryShards(1).connect()
    await storeToFill(40, driver)
    let pages = 0
    const store = await openStore({
      driver: watchedDriver(driver, async (_, method) => {
        if (method === 'pageByAdded') pages++
      }),
      indexes: [],
      time: leapingTime(),
    })
    await tunedCleanIndex(store, names, { pageSize: 10 })
    return pages
  }
  const pagesForOne = await pagesFor(['by_user'])
  expect(pagesForOne).toBeGreaterThan(8)
  expect(await pagesFor(['by_user', 'by_tag'])).toBe(pagesForOne)
})

test('a filling does not read entities that were written after it began', async () => {
  const driver = await memoryShards(1).connect()
  const writer = await storeToFill(40, driver)
  let pages = -Infinity
  const store = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (method !== 'pageByAdded') return
      pages++
      // A filling that reads these too ends only when no more are written.
      if (pages >= 1 && pages <= 50) await writer.putMany(Array.from({ length: 10 }, (_each, i) => bagOf(i)))
    }),
    indexes: [],
    time: leapingTime(),
  })
  pages = 0
  const result = await tunedCleanIndex(store, 'by_user', { pageSize: 10 })
  expect(result.indexes).toMatchObject([{ index: 'by_user', state: 'ready', entities: 40, added: 40 }])
  expect(pages).toBeLessThan(20)
  expect(await rowsIn(writer, 'by_user')).toEqual(await expectedRows(writer, 'by_user'))
})

test('without a name every index is cleaned, and ready ones are repaired', async () => {
  const store = await storeToFill(20)
  await cleanIndex(store)
  await expectFilled(store)
  const { id } = await store.put(bagOf(1))
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bagOf(1), 0))
  expect(await cleanIndex(store)).toMatchObject({ added: 1, removed: 0 })
  await expectFilled(store)
  await expect(cleanIndex(store, 'no_such')).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
})

test('an index that is filled while writers run equals a recomputation', async () => {
  const driver = await memoryShards(2).connect()
  const store = await storeToFill(60, driver)
  const writer = await openStore({ driver, indexes: [] })
  const ids: string[] = []
  for await (const { id } of store.scan()) ids.push(id)
  let isOver = false
  let writes = 0
  const write = async (first: number): Promise<void> => {
    for (let i = first; !isOver; i += 3) {
      const id = ids[i % ids.length]!
      if (i % 11 === 0) await writer.delete(id)
      else if (i % 7 === 0) ids.push((await writer.put(bagOf(i))).id)
      else await writer.put(bagOf(i * 13), { id })
      writes++
    }
  }
  const writers = [write(0), write(1), write(2)]
  await tunedCleanIndex(store, undefined, { pageSize: 4 })
  isOver = true
  await Promise.all(writers)
  await writer.settled()
  expect(writes).toBeGreaterThan(10)
  for (const name of ['by_user', 'by_tag']) {
    const rows = new Set(await rowsIn(store, name))
    for (const row of await expectedRows(store, name)) expect(rows).toContain(row)
  }
  // A page may add a row again that a writer has just deleted; a later look at the entity finds it.
  await cleanIndex(store, undefined, { graceMs: 0 })
  await expectFilled(store)
})

// A short run tries every third step, and other steps of each case; a long run tries all steps.
test.each([
  [true, 1],
  [false, 2],
])(
  'a filling that is killed at any step is resumed by another process (the last call took effect: %s)',
  async (withEffect, firstStep) => {
    let hasDied = true
    let steps = 0
    for (let dieAt = isLong ? 1 : firstStep; hasDied; dieAt += isLong ? 1 : 3) {
      const driver = await memoryShards(2).connect()
      const first = await openStore({ driver, indexes: [], time: leapingTime() })
      await first.putMany(Array.from({ length: 4 }, (_, i) => bagOf(i)))
      await first.addIndex(byTag)
      const mortal = dyingDriver(driver, { withEffect })
      const dying = await openStore({ driver: mortal.driver, indexes: [], time: leapingTime() })
      mortal.dieAfter(dieAt)
      const options = { pageSize: 2, checkpointMs: 0, leaseMs: 1, pollMs: 1 }
      await tunedCleanIndex(dying, undefined, options).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'CLOSED' })
      })
      hasDied = mortal.isDead
      steps = dieAt

      await tunedCleanIndex(first, undefined, options)
      expect(await rowsIn(first, 'by_tag')).toEqual(await expectedRows(first, 'by_tag'))
      expect(await first.indexes()).toMatchObject([{ state: 'ready' }])
    }
    expect(steps).toBeGreaterThan(40)
  },
)

test('a clean resumes at the saved progress of the last worker', async () => {
  const driver = await memoryShards(1).connect()
  await storeToFill(30, driver)
  const first = new AbortController()
  const store = await openStore({ driver, indexes: [], time: leapingTime() })
  const cut = tunedCleanIndex(store, 'by_user', {
    pageSize: 10,
    signal: first.signal,
    onProgress: ({ done }) => {
      if (done >= 20) first.abort()
    },
  })
  await expect(cut).rejects.toMatchObject({ code: 'ABORTED' })
  const report = await readCleanerReport(store)
  expect(report.indexes.find(({ index }) => index === 'by_user')).toMatchObject({
    state: 'building',
    lastRun: undefined,
    inProgress: { shards: [{ shard: 0, phase: 'entities', done: 20, total: 30 }] },
  })

  const pages: number[] = []
  const events: CleanProgress[] = []
  const result = await tunedCleanIndex(store, 'by_user', {
    pageSize: 10,
    onProgress: (event) => {
      if (event.phase === 'entities') pages.push(event.done)
      events.push(event)
    },
  })
  expect(pages).toEqual([30])
  // The count covers both workers.
  expect(result).toMatchObject({ added: 30 })
  expect(new Set(events.map(({ phase }) => phase))).toEqual(
    new Set(['entities', 'dangling', 'check', 'ready']),
  )
  for (const { done, total } of events) expect(done).toBeLessThanOrEqual(total)
  expect(events.at(-1)).toMatchObject({ phase: 'ready', indexes: ['by_user'], shard: 0, added: 30 })
  expect((await readCleanerReport(store)).indexes[0]).toMatchObject({
    state: 'ready',
    lastRun: { tally: { added: 30 } },
    inProgress: undefined,
  })
})

test('two workers share the work', async () => {
  const driver = await memoryShards(4).connect()
  const store = await storeToFill(80, driver)
  const other = await openStore({ driver, indexes: [], time: leapingTime() })
  const results = await Promise.all([
    tunedCleanIndex(store, undefined, { pageSize: 5, shardsAtOnce: 1 }),
    tunedCleanIndex(other, undefined, { pageSize: 5, shardsAtOnce: 1 }),
  ])
  for (const result of results) {
    for (const index of result.indexes) expect(index).toMatchObject({ state: 'ready', entities: 80 })
  }
  await expectFilled(store)
})

test.each([
  ['', {}],
  [', whether or not a check was asked for', { check: false }],
])(
  'a row that goes missing during the filling is found by the check, which then repeats%s',
  async (_, options) => {
    const driver = await memoryShards(1).connect()
    await storeToFill(10, driver)
    const inner = await openStore({ driver, indexes: [] })
    let lookUps = 0
    const store = await openStore({
      driver: watchedDriver(driver, async (_, method) => {
        if (method !== 'rowsOf') return
        lookUps++
        if (lookUps > 1) return
        // This is the first look-up of the check.
        const { id, ...bag } = await firstOf(inner)
        await removeRow(inner, 'by_user', rowFor(inner, 'by_user', id, bag as Record<string, string>, 0))
      }),
      indexes: [],
      time: leapingTime(),
    })
    expect(await tunedCleanIndex(store, 'by_user', options)).toMatchObject({ added: 11 })
    expect(lookUps).toBeGreaterThan(3)
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  },
)

test('a ready index is checked, unless `check` is false', async () => {
  const store = await openStore({ indexes: [byUser], time: leapingTime() })
  await store.put(bagOf(1))
  const phasesOf = async (options: CleanOptions): Promise<Set<string>> => {
    const phases = new Set<string>()
    await tunedCleanIndex(store, 'by_user', { ...options, onProgress: ({ phase }) => phases.add(phase) })
    return phases
  }
  expect(await phasesOf({})).toContain('check')
  expect(await phasesOf({ check: true })).toContain('check')
  expect(await phasesOf({ check: false })).not.toContain('check')
})

test('an index that keeps losing rows does not become ready', async () => {
  const driver = await memoryShards(1).connect()
  await storeToFill(3, driver)
  const inner = await openStore({ driver, indexes: [] })
  const { id, ...bag } = await firstOf(inner)
  const store = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (method !== 'rowsOf') return
      await removeRow(inner, 'by_user', rowFor(inner, 'by_user', id, bag as Record<string, string>, 0))
    }),
    indexes: [],
    time: leapingTime(),
  })
  await expect(cleanIndex(store, 'by_user')).rejects.toMatchObject({ code: 'CONFLICT' })
  expect((await store.indexes()).find(({ name }) => name === 'by_user')?.state).toBe('building')
})

test('an index becomes ready despite misfits and damaged bodies', async () => {
  const store = await openStore({ indexes: [], time: leapingTime() })
  await store.put({ user_id: 'ada', published: 'not a number' })
  const { id, version } = await store.put({ user_id: 'bob', published: 1 })
  const { driver, router, catalog } = store.context
  const shard = router.shardOfId(parseId(id))
  await driver.shards[shard]!.entities.replace(
    [{ id: parseId(id), base: version, version: version + 1, body: Buffer.from('damaged') }],
    { epoch: catalog.current().epochs[shard]! },
  )
  await store.addIndex(byUser)
  const { indexes } = await cleanIndex(store, 'by_user')
  expect(indexes).toMatchObject([{ state: 'ready', misfits: 1, undecodable: 1, added: 0 }])
})

test.each([
  ['the format of a body', 'BODY_UNKNOWN'],
  ['a body of that size', 'BODY_TOO_LARGE'],
] as const)(
  'an index is not filled by a process that cannot decode %s, and later filled by one that can',
  async (_, code) => {
    const store = await storeToFill(20)
    const { id: known } = await store.put(bagOf(99))
    const { codec } = store.context
    let unknown = 0
    const decode = (body: Uint8Array): ReturnType<typeof codec.decode> => {
      const bag = codec.decode(body)
      if (bag['published'] !== 99) return bag
      unknown++
      throw new LooseleafError(code, 'It cannot be read here.')
    }
    const other = { context: { ...store.context, bodies: { ...store.context.bodies, decode } } }
    await expect(cleanIndex(other, 'by_user')).rejects.toMatchObject({ entity: known })
    expect(unknown).toBeGreaterThan(0)
    expect((await store.indexes()).map(({ state }) => state)).toEqual(['building', 'building'])
    await cleanIndex(store)
    await expectFilled(store)
    // Ready indexes stay as they are.
    expect(await cleanIndex(other)).toMatchObject({ added: 0, removed: 0 })
    await expectFilled(store)
  },
)

test('an interrupted change of the catalog is completed before any entity is read', async () => {
  const driver = await memoryShards(2).connect()
  const epochs = async (): Promise<Set<number | undefined>> =>
    new Set(await Promise.all(driver.shards.map(async ({ catalog }) => (await catalog.load())?.epoch)))
  let atFirstPage: Set<number | undefined> | undefined
  const store = await openStore({
    driver: watchedDriver(driver, async (_, method) => {
      if (method === 'pageByAdded') atFirstPage ??= await epochs()
    }),
    indexes: [],
  })
  await store.put(bagOf(1))
  // The first change reserves the name, the second one adds the index.
  let changes = 0
  const failing = await openStore({
    driver: watchedDriver(driver, async (shard, method) => {
      if (shard === 1 && method === 'change' && ++changes === 2) throw new Error('died')
    }),
    indexes: [],
  })
  await expect(failing.addIndex(byUser)).rejects.toThrow('died')
  expect((await epochs()).size).toBe(2)
  await cleanIndex(store, 'by_user')
  expect(atFirstPage?.size).toBe(1)
  expect((await store.query(byUser, { user_id: 'user 1' })).items).toHaveLength(1)
})

test('a restart after a failover makes writes in flight start over, because their rows may be gone', async () => {
  const driver = await memoryShards(2).connect()
  const held = Promise.withResolvers<void>()
  const resume = Promise.withResolvers<void>()
  const router = farRouter()
  const store = await openStore({ driver, router })
  const slow = await openStore({
    router,
    driver: watchedDriver(driver, async (_, method) => {
      if (method !== 'insert') return
      held.resolve()
      await resume.promise
    }),
  })
  const id = store.newId()
  const writing = slow.put(bagOf(3), { id })
  await held.promise
  // The far row of the write in flight is written, and a failover loses it.
  expect(await rowsIn(store, 'by_user')).not.toEqual([])
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bagOf(3), Number.MAX_SAFE_INTEGER))
  await cleanIndex(store, undefined, { restart: true })
  resume.resolve()
  await writing
  for (const name of ['by_user', 'by_tag']) {
    expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
  }
})

/** Creates a store to fill whose first shard fails over during the phase `dangling` of the second. */
async function storeToFallBack(until: 'before' | 'within'): Promise<{ store: DataStore; worker: DataStore }> {
  const driver = createReferenceDriver({ shards: 2 })
  const store = await storeToFill(30, driver)
  const first = driver.shards[0]!
  let earlier = until === 'before' ? first.state() : undefined
  let hasBegun = false
  let hasFallen = false
  const faulty = faultyDriver(driver, ({ shard, table, operation }) => {
    if (shard === 0 && table === 'entities' && operation === 'extent') {
      hasBegun = true
      earlier ??= first.state()
    }
    if (shard === 1 && table === 'index_by_user' && operation === 'scan' && hasBegun && !hasFallen) {
      hasFallen = true
      first.fallBack(earlier!, 'everything')
    }
    return undefined
  })
  return { store, worker: await openStore({ driver: faulty, indexes: [], time: leapingTime() }) }
}

test('a shard that falls back, in rows and progress, while the next one is worked on is cleaned again', async () => {
  const { store, worker } = await storeToFallBack('within')
  const result = await tunedCleanIndex(worker, 'by_user', { shardsAtOnce: 1 })
  expect(result.indexes).toMatchObject([{ index: 'by_user', state: 'ready' }])
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a clean whose progress a shard lost throws `CONFLICT`, and the next call completes it', async () => {
  const { store, worker } = await storeToFallBack('before')
  await expect(tunedCleanIndex(worker, 'by_user', { shardsAtOnce: 1 })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/by_user.*failover.*Clean it again/),
  })
  expect((await worker.indexes()).find(({ name }) => name === 'by_user')).toMatchObject({ state: 'building' })
  await tunedCleanIndex(worker, 'by_user', { shardsAtOnce: 1 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a clean throws `INDEX_NOT_FOUND` if its index is dropped while it runs', async () => {
  const driver = await memoryShards(1).connect()
  const store = await storeToFill(30, driver)
  const other = await openStore({ driver, indexes: [] })
  let dropped: Promise<unknown> | undefined
  const work = tunedCleanIndex(store, 'by_user', {
    pageSize: 5,
    onProgress: () => {
      dropped ??= other.dropIndex('by_user')
    },
  })
  await expect(work).rejects.toMatchObject({
    code: 'INDEX_NOT_FOUND',
    message: 'Index by_user was dropped while it was cleaned.',
  })
  await dropped
})

test('a restart begins from the start even after an interrupted run, and ends that run', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, indexes: [byUser], time: leapingTime() })
  await store.putMany(Array.from({ length: 20 }, (_, i) => bagOf(i)))
  const controller = new AbortController()
  const options = { pageSize: 5, checkpointMs: 0, settleMs: 0 }
  const cut = tunedCleanIndex(store, 'by_user', {
    ...options,
    signal: controller.signal,
    onProgress: ({ phase, done }) => {
      if (phase === 'check' && done === 20) controller.abort()
    },
  })
  await expect(cut).rejects.toMatchObject({ code: 'ABORTED' })
  // The shard falls back to an earlier state.
  const { id, ...bag } = await firstOf(store)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, bag as Record<string, string>, 0))
  expect(await tunedCleanIndex(store, 'by_user', { ...options, restart: true })).toMatchObject({ added: 20 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect((await readCleanerReport(store)).indexes).toMatchObject([{ inProgress: undefined }])
})

test.each([
  ['one shard', [1]],
  ['every shard', [0, 1]],
  // Repeated, because a race between a filling and a write shows only sometimes.
])(
  'an index whose table is missing on %s is filled again, while writers run',
  { repeats: 5 },
  async (_, shards) => {
    const driver = await memoryShards(2).connect()
    const writer = await openStore({ driver, indexes: [byUser] })
    const ids: string[] = []
    for (let i = 0; i < 30; i++) ids.push((await writer.put(bagOf(i))).id)
    for (const shard of shards)
      await driver.shards[shard]!.dropIndexTable({ table: 'index_by_user', columns: [] })

    const store = await openStore({ driver, indexes: [byUser], time: leapingTime() })
    await writer.put(bagOf(31), { id: ids[0]! })
    const filled = tunedCleanIndex(store, undefined, { pageSize: 4 })
    for (let i = 1; i < 15; i++) await writer.put(bagOf(40 + i), { id: ids[i]! })
    await writer.settled()
    expect((await filled).indexes).toMatchObject([{ index: 'by_user', generation: 2, state: 'ready' }])
    await writer.settled()
    expect(await tunedCheckIndex(store, 'by_user', { settleMs: 0 })).toMatchObject({ missing: 0, rows: 30 })
    expect((await writer.query(byUser, { user_id: 'user 6' })).items.length).toBeGreaterThan(0)
  },
)
