import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

const byEntry = defineIndex('by_entry', { properties: { entry: 'string', at: 'integer' }, shardOn: 'entry' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

const SHARDS = 2
const ENTRIES = 20
const wheres = Array.from({ length: ENTRIES }, (_, n) => ({ entry: `entry ${n}` }))

let memory: Driver
let store: DataStore
let plan: FaultPlan
/** Calls of index tables that read or count rows. */
let calls: string[]

beforeEach(async () => {
  memory = await memoryShards(SHARDS).connect()
  plan = () => undefined
  calls = []
  const driver = faultyDriver(memory, (call) => {
    if (/^(scan|count)/.test(call.operation) && call.table !== 'entities')
      calls.push(`${call.shard} ${call.operation}`)
    return plan(call)
  })
  store = await DataStore.open({ shards: keepOpen(driver), indexes: [byEntry, byTag], migrate: true })
})

afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Entry n has n comments. */
async function putComments(): Promise<void> {
  await store.putMany(
    wheres.flatMap(({ entry }, n) =>
      Array.from({ length: n }, (_, at) => ({ entry, at, tags: [entry, 'any'], text: `${entry} ${at}` })),
    ),
  )
}

/** Damages the body of an entity, as a bad disk would. */
async function damage(id: EntityId): Promise<void> {
  const number = store.context.router.shardOfId(parseId(id))
  const { entities } = memory.shards[number]!
  const [row] = await entities.read([parseId(id)])
  const base = row!.version
  const epoch = store.context.catalog.current().epochs[number]!
  await entities.replace([{ id: parseId(id), base, version: base + 1, body: Buffer.from('?') }], { epoch })
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => `${(error as LooseleafError).code}: ${(error as LooseleafError).message}`,
  )

describe('queries by many conditions', () => {
  it('queryMany returns the page and the count of each condition, in two scans per shard', async () => {
    await putComments()
    const options = { order: 'desc', limit: 3 } as const
    calls = []
    const pages = await store.queryMany(byEntry, wheres, { ...options, count: true })
    expect(calls.filter((call) => call.includes('count'))).toEqual([])
    // One scan per shard for the pages, and one for the counts, which are short.
    expect(calls.filter((call) => /scan/.test(call)).length).toBe(2 * 2)
    for (const [n, where] of wheres.entries()) {
      const page = await store.query(byEntry, where, options)
      expect(pages[n]).toEqual({ ...page, count: await store.count(byEntry, where) })
      expect(pages[n]).toMatchObject({ count: n, cost: { complete: true } })
    }
    expect(pages.map(({ items }) => items.length)).toEqual(wheres.map((_, n) => Math.min(n, 3)))
  })

  it('queryMany without counts returns cursors for query', async () => {
    await putComments()
    const pages = await store.queryMany(byEntry, wheres, { limit: 3 })
    for (const [n, { items, cursor, ...others }] of pages.entries()) {
      expect(others).not.toHaveProperty('count')
      const rest =
        cursor === undefined ? [] : (await store.query(byEntry, wheres[n]!, { limit: 1000, cursor })).items
      expect([...items, ...rest].map(({ at }) => at)).toEqual(Array.from({ length: n }, (_, at) => at))
    }
  })

  it('queryMany and countMany accept ranges, value lists, repeated conditions and scatter', async () => {
    await putComments()
    const mixed = [
      { entry: 'entry 9', at: { gte: 7 } },
      { entry: { in: ['entry 2', 'entry 1'] } },
      { entry: 'nobody' },
      { entry: 'entry 2' },
      { entry: 'entry 2' },
      {},
    ]
    const [pages, counts] = await Promise.all([
      store.queryMany(byEntry, mixed, { scatter: true, count: true }),
      store.countMany(byEntry, mixed, { scatter: true }),
    ])
    expect(counts).toEqual([2, 3, 0, 2, 2, (ENTRIES * (ENTRIES - 1)) / 2])
    expect(pages.map(({ count }) => count)).toEqual(counts)
    expect(pages.map(({ items }) => items.length)).toEqual([2, 3, 0, 2, 2, 50])
  })

  it('countMany reads entities if rows do not tell the number, or with exact: true', async () => {
    await putComments()
    const tags = [{ tags: 'any' }, { tags: { in: ['entry 3', 'any'] } }, { tags: 'entry 3' }]
    const all = (ENTRIES * (ENTRIES - 1)) / 2
    expect(await store.countMany(byTag, tags, { scatter: true })).toEqual([all, all, 3])
    expect(await store.countMany(byTag, tags, { scatter: true, exact: true })).toEqual([all, all, 3])
    const pages = await store.queryMany(byTag, tags, { scatter: true, limit: 1, count: true })
    expect(pages.map(({ count }) => count)).toEqual([all, all, 3])
  })

  it('queryMany and countMany accept a thousand conditions and no more', async () => {
    await putComments()
    const thousand = Array.from({ length: 1_000 }, (_, n) => wheres[n % ENTRIES]!)
    const pages = await store.queryMany(byEntry, thousand, { limit: 1, count: true })
    expect(pages.map(({ count }) => count)).toEqual(thousand.map((_, n) => n % ENTRIES))
    expect(await codeOf(store.queryMany(byEntry, [...thousand, wheres[0]!]))).toBe(
      'BAD_OPTION: queryMany takes 1000 conditions at the most; got 1001.',
    )
    expect(await codeOf(store.countMany(byEntry, [...thousand, wheres[0]!]))).toMatch(
      /^BAD_OPTION: countMany/,
    )
    expect(await store.queryMany(byEntry, [])).toEqual([])
    expect(await store.countMany(byEntry, [])).toEqual([])
  })

  it('the pages of queryMany share the bytes of one page, and each has an item or a cursor', async () => {
    const large = Buffer.alloc(7 * 1024 * 1024, 1).toString()
    const some = wheres.slice(0, 4)
    for (const { entry } of some)
      for (const at of [1, 2]) await store.put({ entry, at, text: `${large} ${at}` })
    // The last two conditions are read in another batch than the first.
    const nobody = Array.from({ length: 126 }, () => ({ entry: 'nobody' }))
    const pages = await store.queryMany(byEntry, [...some.slice(0, 2), ...nobody, ...some.slice(2)])
    const filled = pages.filter(({ items }) => items.length > 0)
    expect(filled.map(({ cost }) => cost.complete)).toEqual([true, true, false, false])
    for (const [n, { items, cursor }] of filled.entries()) {
      const rest = cursor === undefined ? [] : (await store.query(byEntry, some[n]!, { cursor })).items
      expect([...items, ...rest].map(({ at }) => at)).toEqual([1, 2])
    }
  }, 30_000)

  it('queryMany and countMany name the condition with an error, and send nothing', async () => {
    calls = []
    // @ts-expect-error a number is no string
    expect(await codeOf(store.queryMany(byEntry, [wheres[0]!, { entry: 7 }]))).toMatch(
      /^BAD_QUERY: Condition 1 \(counted from 0\): Index by_entry/,
    )
    expect(await codeOf(store.countMany(byEntry, [wheres[0]!, {}]))).toMatch(/^BAD_QUERY: Condition 1 /)
    // @ts-expect-error one condition is a query
    expect(await codeOf(store.queryMany(byEntry, wheres[0]!))).toMatch(
      'BAD_OPTION: queryMany takes an array of conditions; got an object.',
    )
    // @ts-expect-error first pages have no cursor
    expect(await codeOf(store.queryMany(byEntry, wheres, { cursor: 'x' }))).toMatch(/no option "cursor"/)
    expect(calls).toEqual([])
  })

  it('queryMany reports a damaged entity in the cost of its page, or fails', async () => {
    const { id } = await store.put({ entry: 'entry 1', at: 1 })
    await store.put({ entry: 'entry 2', at: 1 })
    await damage(id)
    expect(await codeOf(store.queryMany(byEntry, wheres))).toMatch(/^BODY_/)
    const pages = await store.queryMany(byEntry, wheres, { onDamaged: 'skip' })
    expect(pages.flatMap(({ cost }, n) => (cost.damaged === undefined ? [] : [[n, cost.damaged]]))).toEqual([
      [1, [id]],
    ])
    expect(pages[2]!.items).toHaveLength(1)
  })

  it('queryMany fails if a shard fails, and ends with its signal', async () => {
    await putComments()
    plan = ({ operation, shard }) =>
      operation === 'scanMany' && shard === 1
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
            },
          }
        : undefined
    expect(await codeOf(store.queryMany(byEntry, wheres))).toMatch(/^SHARD_UNAVAILABLE/)
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    plan = ({ operation }) => (operation === 'scanMany' ? { before: () => held } : undefined)
    const controller = new AbortController()
    const ended = codeOf(store.queryMany(byEntry, wheres, { signal: controller.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect(await ended).toMatch(/^ABORTED/)
    release()
  })
})

describe('concurrent queries', () => {
  it('concurrent queries share scans', async () => {
    await putComments()
    calls = []
    const pages = await Promise.all(wheres.map((where) => store.query(byEntry, where, { limit: 3 })))
    expect(pages.map(({ items }) => items.length)).toEqual(wheres.map((_, n) => Math.min(n, 3)))
    expect(calls.length).toBeLessThanOrEqual(2 * SHARDS)
  })
})
