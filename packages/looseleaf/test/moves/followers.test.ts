import { setTimeout as sleep } from 'node:timers/promises'
import { formatId, LooseleafError, parseId, type EntityId, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore, EntityChange } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
import { moveUntil } from './consumers/moving.ts'
import { contentsOf, filledStore, itemOf, openStore, SOME_BUCKETS } from './stores.ts'
import { sealedBy } from './two-groups.ts'

const POLL_MS = 10
/** Title of the entity that ends a loop. */
const LAST = 'the last one'

/** Collects the changes until that of an entity with the title `LAST`, on each shard. Calls `onChange` for each. */
async function collect(
  store: DataStore,
  from: string,
  onChange: (change: EntityChange) => Promise<void> | void = () => {},
): Promise<Map<EntityId, EntityChange[]>> {
  const changes = new Map<EntityId, EntityChange[]>()
  const ended = new Set<unknown>()
  for await (const change of store.changes({ from, pollMs: POLL_MS })) {
    changes.set(change.id, [...(changes.get(change.id) ?? []), change])
    if (String(change.entity?.['title']).startsWith(LAST)) ended.add(change.entity!['title'])
    await onChange(change)
    if (ended.size === 2) break
  }
  return changes
}

/** Puts an entity on each shard that ends `collect`. */
async function putLast(store: DataStore): Promise<void> {
  for (const shard of [0, 1]) {
    for (;;) {
      const id = store.newId()
      if (store.context.catalog.current().placement.shardOfId(parseId(id)) !== shard) continue
      await store.put({ ...itemOf(0), name: `${LAST} ${shard} ${id}`, title: `${LAST} ${shard}` }, { id })
      break
    }
  }
}

/** Returns the version of every living entity, at its owner. */
async function versionsOf(store: DataStore): Promise<ReadonlyMap<EntityId, number>> {
  const { placement } = store.context.catalog.current()
  const versions = new Map<EntityId, number>()
  for (const [number, { entities }] of store.context.driver.shards.entries())
    for (const { id, version, body } of await entities.pageByAdded(0, 100_000))
      if (body !== null && placement.shardOfId(id) === number) versions.set(formatId(id), version)
  return versions
}

/** A time whose sleeps end after three tenths of a second at most, and advance it by their length. */
function shortTime(): Time {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    async sleep(milliseconds, signal) {
      const shortened = Math.min(milliseconds, 300)
      await sleep(shortened, undefined, { signal })
      ahead += milliseconds - shortened
    },
  }
}

function expectInOrder(changes: ReadonlyMap<EntityId, readonly EntityChange[]>): void {
  for (const [, some] of changes) {
    const versions = some.map(({ version }) => version)
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b))
  }
}

/** Expects that a reader that begins now gets the last version of every entity once. */
async function expectEachOnce(store: DataStore, reader: DataStore): Promise<void> {
  const versions = await versionsOf(store)
  await putLast(store)
  const changes = await collect(reader, 'beginning')
  expectInOrder(changes)
  for (const [id, version] of versions)
    expect(changes.get(id)?.map((change) => change.version)).toEqual([version])
}

test('changes have each version once and in order, and the last state of every entity, while buckets move away, back, and away again', async () => {
  const driver = await memoryShards(2).connect()
  await (await filledStore(driver, 300)).close()
  const store = await openStore(driver, shortTime())
  const reader = await openStore(driver)
  const ids = [...(await contentsOf(store)).keys()] as EntityId[]
  const collected = collect(reader, 'beginning')
  let n = 0
  const write = async (): Promise<void> => {
    for (const id of ids.slice(0, 60)) await store.update(id, (bag) => ({ ...bag, title: `${++n}` }))
  }
  for (const [from, to] of [
    [0, 1],
    [1, 0],
    [0, 1],
  ] as const) {
    await Promise.all([moveBuckets(store, { from, to, buckets: SOME_BUCKETS }), write()])
    await write()
  }
  await store.delete(ids[0]!)
  const versions = await versionsOf(store)
  await putLast(store)
  const changes = await collected
  expectInOrder(changes)
  expect(changes.get(ids[0]!)!.at(-1)!.entity).toBeUndefined()
  for (const [id, version] of versions) expect(changes.get(id)?.at(-1)?.version).toBe(version)
}, 60_000)

test.each([
  ['has no floor', 'floor'],
  ['has no page', 'pageOfChanges'],
])(
  'changes of the new shard wait while the old one %s, and copies are left out',
  async (_, failing) => {
    const driver = await memoryShards(2).connect()
    const store = await filledStore(driver, 300)
    const before = await versionsOf(store)
    const isIn = entitiesIn(store.context, SOME_BUCKETS)
    const ids = [...before.keys()].filter((id) => isIn(parseId(id)))
    const stopped = new AbortController()
    const onProgress = ({ step }: { readonly step: string }): void => {
      if (step === 'emptying') stopped.abort()
    }
    const { signal } = stopped
    const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
    await expect(moveBuckets(store, plan, { signal, onProgress })).rejects.toMatchObject({ code: 'ABORTED' })
    const written = new Set(ids.slice(0, ids.length / 2))
    for (const id of written) await store.update(id, (bag) => ({ ...bag, title: 'moved' }))
    const after = await versionsOf(store)
    await putLast(store)
    // The old shard does not answer until the new one was read often.
    let pages = Infinity
    let loads = 0
    const slow = faultyDriver(driver, ({ operation, shard, table }) => {
      if (shard === 0 && table === 'catalog') loads++
      if (shard === 1 && operation === 'pageOfChanges') pages++
      if (shard === 1 || operation !== failing || pages > 10) return undefined
      return { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away (on purpose).')) }
    })
    const reader = await openStore(slow)
    pages = 0
    loads = 0
    const changes = await collect(reader, 'beginning')
    expect(loads).toBeLessThan(10)
    for (const id of ids)
      expect(changes.get(id)!.map(({ version }) => version)).toEqual(
        written.has(id) ? [before.get(id), after.get(id)] : [before.get(id)],
      )
  },
  20_000,
)

test('changes leave out a copy that was made just before its bucket was handed over', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore(driver)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id: EntityId
  do id = store.newId()
  while (!isIn(parseId(id)))
  let seals = 0
  const watched = faultyDriver(driver, (call) => {
    if (sealedBy(call) === undefined || ++seals > 1) return undefined
    return { before: async () => void (await store.put({ ...itemOf(1) }, { id })) }
  })
  await moveUntil(await openStore(watched, leapingTime()), 'emptying')
  await putLast(store)
  const changes = await collect(await openStore(driver), 'beginning')
  expect(changes.get(id)).toHaveLength(1)
})

test('a reader of changes that is too slow for a move is CHANGES_GONE, and gets no newer state before', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const reader = await openStore(driver)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const ids = ([...(await contentsOf(store)).keys()] as EntityId[]).filter((id) => isIn(parseId(id)))
  let hasMoved = false
  let newer = 0
  const changes = await collect(reader, 'beginning', async ({ entity }) => {
    if (entity?.['title'] === 'moved') newer++
    if (hasMoved || entity === undefined) return
    hasMoved = true
    // The first page of the source is in memory, and is handed over after all of these writes.
    await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
    for (const id of ids) await store.update(id, (bag) => ({ ...bag, title: 'moved' }))
    await putLast(store)
  }).catch((error: unknown) => error)
  expect(changes).toMatchObject({ code: 'CHANGES_GONE' })
  expect(newer).toBe(0)
})

async function firstCursor(store: DataStore): Promise<string> {
  for await (const { cursor } of store.changes({ from: 'beginning', pollMs: POLL_MS })) return cursor
  throw new Error('The store has no change.')
}

test('a reader of changes whose source deletes its rows between two of its statements is CHANGES_GONE', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const cursor = await firstCursor(store)
  await moveUntil(store, 'emptying')
  await putLast(store)
  // The floor of the source was read before, and is behind its last moved row.
  let isFirst = true
  const overtaken = faultyDriver(driver, ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'pageOfChanges' || !isFirst) return undefined
    isFirst = false
    return { before: async () => void (await resumeMoves(store)) }
  })
  const reader = await openStore(overtaken)
  await expect(collect(reader, cursor)).rejects.toMatchObject({ code: 'CHANGES_GONE' })
  expect(isFirst).toBe(false)
})

test('a reader of changes whose source deletes all of its rows before a page is CHANGES_GONE', async () => {
  const driver = await memoryShards(2).connect()
  const store = await openStore(driver, leapingTime())
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  for (let n = 0; n < 20;) {
    const id = store.newId()
    if (isIn(parseId(id))) await store.put({ ...itemOf(n++) }, { id })
  }
  const cursor = await firstCursor(store)
  await moveUntil(store, 'emptying')
  let pages = 0
  const overtaken = faultyDriver(driver, ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'pageOfChanges') return undefined
    if (++pages === 1) return { before: async () => void (await resumeMoves(store)) }
    // Ends a reader that has not noticed it.
    return pages === 8 ? { before: () => putLast(store) } : undefined
  })
  const reader = await openStore(overtaken)
  await expect(collect(reader, cursor)).rejects.toMatchObject({ code: 'CHANGES_GONE' })
  expect(pages).toBeLessThan(8)
})

test('a reader of changes that begins after a move gets every entity once', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  await expectEachOnce(store, await openStore(driver, leapingTime()))
})

test('a reader of changes that begins when the source has noted that it deletes its rows gets every entity once', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  // The mover dies between its note and the first deletion.
  let hasMoved = false
  const dying = faultyDriver(driver, ({ shard, operation }) =>
    hasMoved && shard === 0 && operation === 'discard'
      ? { before: () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.')) }
      : undefined,
  )
  const mover = await openStore(dying, leapingTime())
  const onProgress = ({ step }: { readonly step: string }): void => void (hasMoved ||= step === 'emptying')
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  await expect(moveBuckets(mover, plan, { onProgress })).rejects.toMatchObject({ code: 'CLOSED' })
  const reader = await openStore(driver, leapingTime())
  expect((reader.context.catalog.current().shards[0]?.serves?.away ?? [])[0]?.emptied).toBeGreaterThan(0)
  await expectEachOnce(store, reader)
})

test('a reader of changes that begins after two shards have exchanged buckets gets every entity once', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  await moveBuckets(store, { from: 1, to: 0, buckets: '3000-4095' })
  await expectEachOnce(store, await openStore(driver, leapingTime()))
})

test('a cursor from before a move whose source has deleted its rows is CHANGES_GONE, also if nothing was written since', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const cursor = await firstCursor(store)
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  const reader = await openStore(driver)
  await expect(collect(reader, cursor)).rejects.toMatchObject({
    code: 'CHANGES_GONE',
    message: expect.stringMatching(/moved to shard 1.*'beginning'/),
  })
})
