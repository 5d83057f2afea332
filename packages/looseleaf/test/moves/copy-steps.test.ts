import { formatId, parseId, type Driver, type EntityId } from '@looseleaf/core'
import {
  bucketsIn,
  idKey,
  type CatalogEntry,
  type EntityChecksum,
  type IndexRow,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import {
  announceMove,
  clearTarget,
  come,
  compareEntities,
  copyEntities,
  copyIndexRows,
  copyLast,
  countExtra,
  createThrottle,
  entitiesIn,
  leave,
  placeAt,
  seal,
  shardAt,
  type Attempt,
  type ChainedTarget,
  type CopiedPage,
  type CopyRange,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { byName, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }
/** Rows of a page, by the rate limit. */
const PAGE = 20
const MANY = 300

let driver: Driver
let store: DataStore
let received: number[]
let work: MoveWork
let attempt: Attempt
let target: ChainedTarget
let kinds: string[]

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  await (await filledStore(driver, MANY)).close()
  received = []
  kinds = []
  store = await openStore(
    faultyDriver(driver, ({ operation, args }) => {
      if (operation === 'receive') received.push((args[0] as unknown[]).length)
      return undefined
    }),
    leapingTime(),
  )
  const { context } = store
  const move = await announceMove(context, PLAN)
  const throttle = createThrottle(context.time, PAGE)
  work = {
    context,
    move,
    signal: undefined,
    throttle: {
      ...throttle,
      send: (shard, kindOf, statement, signal) =>
        throttle.send(
          shard,
          (answer) => {
            const kind = kindOf(answer)
            kinds.push(kind)
            return kind
          },
          statement,
          signal,
        ),
      work(shard, kind, does, signal) {
        kinds.push(kind)
        return throttle.work(shard, kind, does, signal)
      },
    },
  }
  attempt = (await leave(work))!
  const begun = (await come(work, attempt, { attempt: 0, last: undefined }))!
  target = { ...(await clearTarget(work, attempt, begun))!, chain: { last: undefined } }
  kinds = []
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

const isIn = (id: Uint8Array): boolean => entitiesIn(store.context, SOME_BUCKETS)(id)

const isAtMost = (row: UpdatedPlace, place: UpdatedPlace): boolean =>
  row.updated < place.updated || (row.updated === place.updated && row.addedId <= place.addedId)

/** Returns the rows of a shard in the order of their last write. */
async function rowsOf(number: number): Promise<readonly EntityChecksum[]> {
  return shardAt(store.context, number).entities.pageOfChecksums({ after: placeAt(0) }, 10_000)
}

async function copiesOf(): Promise<ReadonlyMap<string, EntityChecksum>> {
  return new Map((await rowsOf(1)).filter(({ id }) => isIn(id)).map((row) => [idKey(row.id), row]))
}

async function wholeRange(): Promise<CopyRange> {
  const until = await shardAt(store.context, 0).entities.raiseFloor()
  return { after: placeAt(0), until, buckets: SOME_BUCKETS }
}

/** Returns the table of `byName` with its rows, or with its claims. */
function entryOf({ unique }: { readonly unique: boolean }): CatalogEntry {
  const { indexes } = store.context.catalog.current()
  return indexes.find((entry) => entry.name === byName.name && (entry.unique === true) === unique)!
}

function isRowIn(entry: CatalogEntry, { key, entityId }: IndexRow): boolean {
  const bucket = bucketOfRow(entry, store.context.router.buckets!, key, entityId)
  return bucketsIn(SOME_BUCKETS).includes(bucket)
}

const kindNames = (): ReadonlySet<string> => new Set(kinds.map((kind) => kind.replace(/ \d+$/, '')))

test('every entity of the buckets is copied once, in full batches, and the place of a page is behind its copies', async () => {
  const source = await rowsOf(0)
  const pages: CopiedPage[] = []
  const { copied } = await copyEntities(work, await wholeRange(), target, async (page) => {
    pages.push(page)
    const copies = await copiesOf()
    for (const row of source)
      if (isAtMost(row, page.place) && isIn(row.id)) expect(copies.has(idKey(row.id))).toBe(true)
  })
  const moving = source.filter(({ id }) => isIn(id))
  expect(copied).toBe(moving.length)
  let before = 0
  for (const page of pages) {
    before += page.copied
    expect(moving.filter((row) => isAtMost(row, page.place))).toHaveLength(before)
  }
  expect(pages.reduce((sum, page) => sum + page.read, 0)).toBe(source.length)
  expect(pages.reduce((sum, page) => sum + page.copied, 0)).toBe(copied)
  expect(received).toEqual([
    ...Array.from({ length: Math.floor(copied / PAGE) }, () => PAGE),
    ...(copied % PAGE === 0 ? [] : [copied % PAGE]),
  ])
  const copies = await copiesOf()
  for (const { id, version, checksum, bodyBytes } of moving)
    expect(copies.get(idKey(id))).toMatchObject({ version, checksum, bodyBytes, updated: target.updated })
  expect(copies.size).toBe(moving.length)
  expect(pages.at(-1)!.place).toMatchObject({ updated: source.at(-1)!.updated })
  expect(kinds.filter((kind) => kind.startsWith('copy page'))).toHaveLength(
    Math.floor(source.length / PAGE) + 1,
  )
  expect(kindNames()).toEqual(new Set(['copy page 8192', 'receive']))
})

test('few buckets are copied by pages without bodies, and none without entities', async () => {
  // One less than an eighth of the source's buckets.
  const few = { ...(await wholeRange()), buckets: '0-254' }
  const { copied } = await copyEntities(work, few, target)
  const isFew = entitiesIn(store.context, few.buckets)
  expect(copied).toBe((await rowsOf(0)).filter(({ id }) => isFew(id)).length)
  expect((await copiesOf()).size).toBe(copied)
  expect(kindNames()).toEqual(new Set(['copy page 0', 'copy read', 'receive']))
  const reads = (): number => kinds.filter((kind) => kind.startsWith('copy read')).length
  const before = reads()
  expect(await copyEntities(work, { ...few, buckets: '' }, target)).toEqual({ copied: 0 })
  expect(reads()).toBe(before)
  await copyEntities(work, { ...few, buckets: '0-255' }, target)
  expect(kindNames()).toContain('copy page 8192')
})

test('a copy that differs counts, unless its entity was written since', async () => {
  const range = await wholeRange()
  await copyEntities(work, range, target)
  const moving = (await rowsOf(0)).filter(({ id }) => isIn(id))
  const pages: CopiedPage[] = []
  expect(await compareEntities(work, range, (page) => void pages.push(page))).toEqual({
    compared: moving.length,
    different: 0,
  })
  expect(pages.reduce((sum, page) => sum + page.copied, 0)).toBe(moving.length)
  expect(pages.reduce((sum, page) => sum + page.read, 0)).toBe((await rowsOf(0)).length)
  expect(kindNames()).toEqual(new Set(['copy page 8192', 'receive', 'copy page', 'checksums']))
  const [first, second, third] = moving.map(({ id }) => id)
  const { entities } = shardAt(store.context, 1)
  const wrong = [first!, second!, third!].map((id) => ({ id, version: 1, body: null }))
  await entities.receive(wrong, { ...target, updated: target.updated + 1 })
  expect(await compareEntities(work, range)).toMatchObject({ different: 3 })
  // The entities of two of them are written while they are compared.
  const writer = await openStore(driver)
  const writing = faultyDriver(driver, ({ shard, operation, number }) =>
    shard === 1 && operation === 'checksums' && number === 1
      ? {
          async after() {
            for (const id of [first!, second!]) await writer.put({ n: 1 }, { id: formatId(id) })
          },
        }
      : undefined,
  )
  const { context } = await openStore(writing, leapingTime())
  expect(await compareEntities({ ...work, context }, range)).toMatchObject({ different: 1 })
})

test('a copy does not differ from an entity that a failover takes back while they are compared', async () => {
  const range = await wholeRange()
  await copyEntities(work, range, target)
  const { id } = (await rowsOf(0)).find((row) => isIn(row.id))!
  const { entities } = driver.shards[1]!
  await entities.receive([{ id, version: 1, body: null }], { ...target, updated: target.updated + 1 })
  const source = driver.shards[0]!.entities
  const losing = faultyDriver(driver, ({ shard, operation, number }) =>
    shard === 1 && operation === 'checksums' && number === 1
      ? { after: async () => void (await source.discard([id], await source.floor())) }
      : undefined,
  )
  const { context } = await openStore(losing, leapingTime())
  expect(await compareEntities({ ...work, context }, range)).toMatchObject({ different: 0 })
})

test('an entity at the target without a row at the source is counted from a place on', async () => {
  await copyEntities(work, await wholeRange(), target)
  const { entities } = shardAt(store.context, 1)
  expect(await countExtra(work, SOME_BUCKETS, 0)).toBe(0)
  const extra: EntityId[] = []
  while (extra.length < 3) {
    const id = store.newId()
    if (isIn(parseId(id))) extra.push(id)
  }
  const rows = extra.map((id) => ({ id: parseId(id), version: 1, body: null }))
  await entities.receive(rows, target)
  expect(await countExtra(work, SOME_BUCKETS, 0)).toBe(3)
  const last = Math.max(...(await rowsOf(1)).map(({ addedId }) => addedId))
  expect(await countExtra(work, SOME_BUCKETS, last - 1)).toBe(1)
  expect(await countExtra(work, SOME_BUCKETS, last)).toBe(0)
  expect(await countExtra(work, '1023', 0)).toBeLessThan(3)
  let statements = 0
  const onStatement = async (): Promise<void> => void statements++
  await countExtra({ ...work, onStatement }, SOME_BUCKETS, 0)
  expect(statements).toBe(Math.ceil((await rowsOf(1)).length / PAGE))
})

test('the rows of an index are copied whole, and a comparison writes only those that are missing or have a lower stamp', async () => {
  const entry = entryOf({ unique: false })
  const spec = tableSpec(entry)
  const scan = { prefix: [], order: 'asc', limit: 10_000 } as const
  const all = await driver.shards[0]!.index(spec).scan(scan)
  const moving = all.filter((row) => isRowIn(entry, row))
  expect(moving.length).toBeGreaterThan(2 * PAGE)
  const { length: found } = moving
  const reads: number[] = []
  const onPage = async (read: number): Promise<void> => void reads.push(read)
  expect(await copyIndexRows(work, entry, { comparing: false, onPage })).toEqual({
    read: all.length,
    found,
    written: found,
    later: 0,
    freed: 0,
  })
  expect(reads.reduce((sum, read) => sum + read, 0)).toBe(all.length)
  expect(kindNames()).toContain(`write ${entry.table}`)
  expect(await copyIndexRows(work, entry, { comparing: true })).toMatchObject({ found, written: 0 })
  expect(kindNames()).toContain(`rows of ${entry.table}`)
  expect(kinds).not.toContain(`write ${entry.table} 0`)
  const table = driver.shards[1]!.index(spec)
  const { epoch } = (await driver.shards[1]!.catalog.load())!
  const [first, second] = moving
  const removals = [first!, second!].map(({ key, entityId, version }) => ({
    key,
    entityId,
    before: version + 1,
  }))
  expect(await table.remove(removals, { epoch })).toBe(2)
  await table.upsert([{ ...second!, version: second!.version - 1 }])
  expect(await copyIndexRows(work, entry, { comparing: true })).toMatchObject({ found, written: 2 })
})

test('a claim is copied only if its entity has the key', async () => {
  const entry = entryOf({ unique: true })
  // Writers that died have left claims: one of a key that its entity does not have, and one of no entity.
  const [living] = (await rowsOf(0)).filter(({ bodyBytes }) => bodyBytes > 0)
  for (const entityId of [living!.id, parseId(store.newId())]) {
    for (let n = 0; ; n++) {
      const row = { key: [Buffer.from(`dead ${n} ${living!.id === entityId}`)], entityId, version: 1 }
      if (!isRowIn(entry, row)) continue
      await driver.shards[0]!.claims(tableSpec(entry)).take([row])
      break
    }
  }
  const { found, written } = await copyIndexRows(work, entry, { comparing: false })
  expect(written).toBeGreaterThan(2 * PAGE)
  expect(found - written).toBe(2)
  const claims = await driver.shards[1]!.index(tableSpec(entry)).scan({
    prefix: [],
    order: 'asc',
    limit: 10_000,
  })
  expect(claims.filter((row) => isRowIn(entry, row))).toHaveLength(written)
})

test('the last copy of a group takes what was written since, compares it, and returns its last time', async () => {
  const range = await wholeRange()
  await copyEntities(work, range, target)
  const ids = [...(await contentsOf(store)).keys()].filter((id) => isIn(parseId(id as EntityId)))
  for (const id of ids.slice(0, 20)) await store.update(id as EntityId, (bag) => ({ ...bag, rank: 3 }))
  const [deleted] = ids.slice(20)
  await store.delete(deleted as EntityId)
  const lasting = { ...target, updated: target.updated + 1 }
  await seal(work, attempt, SOME_BUCKETS)
  const times = (await rowsOf(0)).filter(({ id }) => isIn(id)).map(({ updated }) => updated)
  expect(await copyLast(work, placeAt(range.until), SOME_BUCKETS, lasting)).toEqual({
    copied: 21,
    different: 0,
    lastUpdated: Math.max(...times),
  })
  expect(await copyLast(work, placeAt(Math.max(...times) + 1), SOME_BUCKETS, lasting)).toEqual({
    copied: 0,
    different: 0,
    lastUpdated: 0,
  })
})
