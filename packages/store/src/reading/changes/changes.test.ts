import { getEventListeners } from 'node:events'
import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { changeCursor } from './change-cursor.ts'
import type { ChangesOptions, EntityChange } from './changes.ts'

const SHARDS = 2

let memory: Driver
let store: DataStore
let plan: FaultPlan

beforeEach(async () => {
  memory = await memoryShards(SHARDS).connect()
  plan = () => undefined
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
})

afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Takes this many changes. */
async function take(count: number, options: ChangesOptions = {}): Promise<EntityChange[]> {
  const taken: EntityChange[] = []
  for await (const change of store.changes({ pollMs: 10, ...options })) {
    taken.push(change)
    if (taken.length === count) break
  }
  return taken
}

/** Begins to take one change, and resolves as soon as every shard is asked for changes behind its place. */
async function begin(options?: ChangesOptions): Promise<{ taking: Promise<EntityChange[]> }> {
  const asked = new Set<number>()
  plan = ({ shard, operation }) => (operation === 'pageOfChanges' && asked.add(shard), undefined)
  const taking = take(1, options)
  await expect.poll(() => asked.size, { timeout: 60_000 }).toBe(SHARDS)
  return { taking }
}

const partsOf = (cursor: string): unknown[] =>
  JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]

const cursorOf = (parts: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url')

/** Puts an entity on this shard, and returns its id. */
const putOn = async (shard: number, bag: object): Promise<EntityId> =>
  (await store.put(bag, { id: idOn(store, shard) })).id

it('changes from the beginning are all entities in their current state, then later changes', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await store.put({ n })).id))
  await store.put({ n: 'again' }, { id: ids[0]! })
  await store.delete(ids[1]!)
  const seen = new Map<EntityId, EntityChange>()
  for await (const change of store.changes({ from: 'beginning', pollMs: 10 })) {
    expect(seen.has(change.id)).toBe(false)
    seen.set(change.id, change)
    if (seen.size === 20) await store.put({ n: 'later' })
    if (seen.size === 21) break
  }
  expect(seen.get(ids[0]!)).toMatchObject({ entity: { id: ids[0], n: 'again' } })
  expect(seen.get(ids[1]!)).toMatchObject({ entity: undefined })
  expect([...seen.values()].at(-1)).toMatchObject({ entity: { n: 'later' } })
  expect(seen.get(ids[2]!)?.updated).toBeInstanceOf(Date)
})

it('changes from now on leave out stored entities', async () => {
  await store.put({ n: 'before' })
  const { taking } = await begin()
  await store.put({ n: 'after' })
  expect(await taking).toMatchObject([{ entity: { n: 'after' } }])
})

it('changes of a kind have the deletions of entities of any kind', async () => {
  const entry = await putOn(0, { _kind: 'entry' })
  const note = await putOn(0, { _kind: 'note' })
  await putOn(0, { _kind: 'note' })
  await store.delete(note)
  expect(await take(2, { from: 'beginning', kinds: ['entry'] })).toMatchObject([
    { id: entry, entity: { _kind: 'entry' } },
    { id: note, entity: undefined },
  ])
})

it('a cursor of changes continues after its change on every shard', async () => {
  for (let n = 0; n < 12; n++) await putOn(n % SHARDS, { n })
  const all = await take(12, { from: 'beginning' })
  for (const [i, { cursor }] of all.entries()) {
    if (i === all.length - 1) break
    const rest = await take(all.length - 1 - i, { from: cursor })
    expect(new Set(rest.map(({ id }) => id))).toEqual(new Set(all.slice(i + 1).map(({ id }) => id)))
  }
  const last = take(1, { from: all.at(-1)!.cursor })
  const id = await putOn(1, { n: 'next' })
  expect(await last).toMatchObject([{ id }])
})

it('a purge on a shard that has given no change yet leaves a cursor valid', async () => {
  const { taking } = await begin({ from: 'beginning' })
  await putOn(0, { n: 1 })
  const [change] = await taking
  const id = await putOn(1, { n: 2 })
  const { entities } = memory.shards[1]!
  await entities.raisePurged({ updated: await entities.raiseFloor(), version: 1 }, { epoch: 1 })
  expect(await take(1, { from: change!.cursor })).toMatchObject([{ id }])
})

it('a slow consumer of changes holds back reads, and gets the last states later', async () => {
  const ids = await Promise.all(Array.from({ length: 300 }, async (_, n) => (await store.put({ n })).id))
  const changes = store.changes({ from: 'beginning', pollMs: 10 })[Symbol.asyncIterator]()
  const last = new Map<EntityId, unknown>()
  const next = async (): Promise<void> => {
    const { value } = (await changes.next()) as { value: EntityChange }
    last.set(value.id, value.entity?.['n'])
  }
  await next()
  let pages = 0
  plan = ({ operation }) => (operation === 'pageOfChanges' && pages++, undefined)
  // Writes far more than a page per shard while the consumer is at its first change.
  for (let round = 1; round <= 20; round++)
    await Promise.all(ids.map((id, n) => store.put({ n: n + 1_000 * round }, { id })))
  await new Promise((done) => setTimeout(done, 100))
  expect(pages).toBeLessThan(10)
  while (ids.some((id, n) => last.get(id) !== n + 20_000)) await next()
  await changes.return?.()
})

it('changes have thousands of entities once each, in the order of writing per shard', async () => {
  await store.putMany(Array.from({ length: 1_300 }, (_, n) => ({ n })))
  const all = await take(1_300, { from: 'beginning' })
  expect(new Set(all.map(({ id }) => id)).size).toBe(1_300)
  for (const shard of [0, 1]) {
    const times = all
      .filter(({ id }) => store.context.router.shardOfId(parseId(id)) === shard)
      .map(({ updated }) => updated.getTime())
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
})

it('changes reach the last state of each entity under concurrent writes', async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await store.put({ n: 0 })).id))
  const versions = new Map<EntityId, number>()
  const seen = new Map<EntityId, number>()
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; n < 30; n++) {
      const id = ids[(writer + n) % ids.length]!
      const { version } = await store.update(id, () => ({ n, writer }))
      versions.set(id, Math.max(version, versions.get(id) ?? 0))
    }
  })
  const writing = Promise.all(writers).then(() => store.put({ end: true }))
  for await (const { id, version, entity } of store.changes({ from: 'beginning', pollMs: 10 })) {
    expect(version).toBeGreaterThanOrEqual(seen.get(id) ?? 0)
    seen.set(id, version)
    const isDone = [...versions].every(([one, last]) => (seen.get(one) ?? 0) >= last)
    if (entity?.['end'] === true) await writing
    if (isDone && versions.size === ids.length && seen.has((await writing).id)) break
  }
  expect(ids.map((id) => seen.get(id))).toEqual(ids.map((id) => versions.get(id)))
})

it('two followers that both raise the floor each reach the last state of each entity', async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await store.put({ n: 0 })).id))
  async function follow() {
    const counts = { raises: 0, repeats: 0 }
    const seen = new Map<EntityId, number>()
    const driver = faultyDriver(memory, ({ operation }) => {
      if (operation === 'raiseFloor') counts.raises++
      return undefined
    })
    const follower = await DataStore.open({ shards: keepOpen(driver) })
    const controller = new AbortController()
    const { signal } = controller
    const read = async (): Promise<void> => {
      for await (const { id, version } of follower.changes({ from: 'beginning', pollMs: 10, signal })) {
        if (version <= (seen.get(id) ?? 0)) counts.repeats++
        seen.set(id, version)
      }
    }
    const ended = read().catch((error: unknown) => error)
    return { counts, seen, controller, ended, follower }
  }
  const followers = await Promise.all([follow(), follow()])
  const versions = new Map<EntityId, number>()
  await Promise.all(
    ids.map(async (id) => {
      for (let n = 0; n < 60; n++) {
        versions.set(id, (await store.put({ n }, { id })).version)
        await new Promise((done) => setTimeout(done, 2))
      }
    }),
  )
  for (const { counts, seen, controller, ended, follower } of followers) {
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(versions)
    expect(counts.raises).toBeGreaterThan(1)
    expect(counts.repeats).toBe(0)
    controller.abort()
    expect(await ended).toBeUndefined()
    await follower.close()
  }
})

it('a follower that crashes between raising the floor and reading continues without a gap', async () => {
  await store.put({ n: 0 })
  const [known] = await take(1, { from: 'beginning' })
  let isArmed = false
  const dying = faultyDriver(memory, ({ operation }) =>
    isArmed && operation === 'raiseFloor' ? { crash: 'after' } : undefined,
  )
  const dies = await DataStore.open({ shards: keepOpen(dying) })
  const changes = dies.changes({ from: known!.cursor, pollMs: 10 })[Symbol.asyncIterator]()
  const answers: unknown[] = []
  void changes.next().then((answer) => answers.push(answer))
  await new Promise((done) => setTimeout(done, 50))
  isArmed = true
  const below = await Promise.all([0, 1].map((shard) => putOn(shard, { n: 'below' })))
  await dying.crashed
  const id = await putOn(0, { n: 'later' })
  expect(answers).toEqual([])
  const met = await take(3, { from: known!.cursor })
  expect(new Set(met.map((change) => change.id))).toEqual(new Set([...below, id]))
})

it('changes retry a shard that does not answer, and other shards continue', async () => {
  let isDown = true
  plan = ({ operation, shard }) =>
    isDown && shard === 1 && operation === 'pageOfChanges'
      ? {
          before: () =>
            Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is down.', { shard: 'memory 1' })),
        }
      : undefined
  const first = await putOn(1, { n: 1 })
  const other = await putOn(0, { n: 0 })
  const retried = new Set<string>()
  const met: EntityId[] = []
  for await (const { id } of store.changes({
    from: 'beginning',
    pollMs: 10,
    onRetry: ({ code, shard }) => void retried.add(`${code} of ${shard}`),
  })) {
    met.push(id)
    isDown = false
    if (met.length === 2) break
  }
  expect(met).toEqual([other, first])
  expect(retried).toEqual(new Set(['SHARD_UNAVAILABLE of memory 1']))
})

it('changes since a floor that a failover has lost are read again', async () => {
  const { id } = await store.put({ n: 1 })
  const [{ cursor } = { cursor: '' }] = await take(1, { from: 'beginning' })
  const { storeId } = store.context.catalog.current()
  const later = { updated: (Date.now() + 3_600_000) * 1000, addedId: 1, since: 0 }
  const ahead = changeCursor(storeId, [later, later])
  expect(ahead).not.toBe(cursor)
  const { taking } = await begin({ from: ahead })
  const { version } = await store.put({ n: 2 }, { id })
  expect(await taking).toMatchObject([{ id, version }])
})

it('a signal that fires while the places of a cursor are read ends the loop of changes', async () => {
  await store.put({ n: 1 })
  const [change] = await take(1, { from: 'beginning' })
  const soon = new AbortController()
  const taking = take(1, { from: change!.cursor, signal: soon.signal })
  soon.abort()
  expect(await taking).toEqual([])
})

it('a signal that fires before the first change, between two or during a wait ends the loop of changes without an error', async () => {
  const gone = AbortSignal.abort()
  expect(await take(1, { from: 'beginning', signal: gone })).toEqual([])
  await Promise.all([1, 2, 3].map((n) => store.put({ n })))
  expect(await take(1, { from: 'beginning', signal: gone })).toEqual([])
  const aborter = new AbortController()
  let count = 0
  for await (const _ of store.changes({ from: 'beginning', pollMs: 10, signal: aborter.signal })) {
    count++
    aborter.abort()
  }
  expect(count).toBe(1)
  const waiting = new AbortController()
  const { taking } = await begin({ signal: waiting.signal })
  waiting.abort()
  expect(await taking).toEqual([])
})

it('`return` ends an iterator of changes while its `next` waits, as streams and subscriptions call it', async () => {
  const { signal } = new AbortController()
  const changes = store.changes({ pollMs: 10, signal })[Symbol.asyncIterator]()
  const waiting = changes.next()
  await changes.return?.()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(await changes.next()).toEqual({ done: true, value: undefined })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('the close of the store rejects the loop of changes', async () => {
  const closed = take(1)
  await new Promise((resolve) => setTimeout(resolve, 30))
  await store.close()
  await expect(closed).rejects.toMatchObject({ code: 'CLOSED' })
  expect(() => store.changes()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
})

it.each([
  ['nonsense', /is not one that this version/],
  [cursorOf([2, 'store', 1, 1]), /is not one that this version/],
  [changeCursor('another', [{ updated: 1, addedId: 1, since: 0 }]), /is of another store/],
])('changes reject the cursor %s', async (from, message) => {
  await expect(take(1, { from })).rejects.toMatchObject({
    code: 'BAD_CURSOR',
    message: expect.stringMatching(message),
  })
})

it('a cursor continues although a crash has undone the joining of a shard on which it has a place', async () => {
  await store.put({ n: 1 })
  const [{ cursor } = { cursor: '' }] = await take(1, { from: 'beginning' })
  const known = partsOf(cursor)
  const from = cursorOf([...known, 1, 1, 0])
  const { id } = await store.put({ n: 2 })
  const [change] = await take(1, { from })
  expect(change).toMatchObject({ id })
  expect(partsOf(change!.cursor)).toHaveLength(known.length)
  // A shard that does not answer may have the joining, and the place on the joined shard must not be lost then.
  const down = (): never => {
    throw new LooseleafError('SHARD_UNAVAILABLE', 'The server is down (a fault on purpose).')
  }
  plan = ({ shard }) => (shard === 0 ? { before: down } : undefined)
  await expect(take(1, { from })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })
})

it('changes reject invalid options', async () => {
  expect(() => store.changes({ pollMs: 0 })).toThrow(/pollMs.*10 or more/)
  expect(() => store.changes({ from: 7 as never })).toThrow(/'beginning', 'now' or the cursor/)
  // An undefined cursor must not skip every stored entity.
  expect(() => store.changes({ from: undefined as never })).toThrow(
    /'beginning', 'now' or the cursor .*'beginning'\); got/,
  )
})
