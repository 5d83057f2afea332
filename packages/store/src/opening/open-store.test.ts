import { LooseleafError, type Driver, type IndexDefinitionData, type Router } from '@looseleaf/core'
import type { CatalogEntry, ShardCatalog } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec, type Catalog } from '@looseleaf/index-engine/internal'
import { bucketRouter, moduloRouter } from '@looseleaf/router'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { initialise } from './initialise.ts'
import { openStore } from './open-store.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })
const router = bucketRouter({ shards: 3 })
const plain = { acceptEmptyShards: false, policies: {}, queryTimeMs: undefined }

let reference: ReferenceDriver
let plan: FaultPlan
const driver = () => faultyDriver(reference, (call) => plan(call))

beforeEach(() => {
  reference = createReferenceDriver({ shards: 3 })
  plan = () => undefined
})

const init = (
  indexes: readonly IndexDefinitionData[] = [byLink],
  options: Parameters<typeof initialise>[3] = plain,
): Promise<void> => initialise(driver(), router, indexes, options)

async function openCatalog(from: Driver, by: Router, queryTimeMs?: number): Promise<Catalog> {
  const options = { ...plain, router: by, migrate: false, indexes: [], queryTimeMs }
  return (await openStore(from, { ...options, onWarning: () => undefined, detached: (work) => work() }))
    .catalog
}

const stored = (): ShardCatalog[] => reference.shards.map((shard) => shard.contents()!)

/** Changes fields of a shard's catalog. */
async function put(shard: number, fields: Partial<ShardCatalog>): Promise<void> {
  const { catalog } = reference.shards[shard]!
  const current = (await catalog.load())!
  expect(await catalog.change({ ...current, ...fields }, current.epoch)).toBe(true)
}

async function putEntity(shard: number): Promise<void> {
  const { entities } = reference.shards[shard]!
  const epoch = reference.shards[shard]!.contents()!.epoch
  await entities.insert([{ id: Buffer.alloc(16, 1), version: 1, body: Buffer.from('any') }], { epoch })
}

describe('the first catalog of a store', () => {
  it("the first catalog is the same on every shard, except for the shard's number", async () => {
    await init([byLink, byRank])
    const [first] = stored()
    expect(first).toMatchObject({
      epoch: 1,
      storeId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      shardCount: 3,
      router: router.fingerprint,
      indexes: [
        { name: 'by_link', generation: 1, table: 'index_by_link', state: 'ready', onMisfit: 'refuse' },
        { name: 'by_rank', generation: 1, table: 'index_by_rank', state: 'ready' },
      ],
      mayDefer: undefined,
      queryTimeMs: 5_000,
    })
    expect(stored()).toEqual([0, 1, 2].map((shardNumber) => ({ ...first, shardNumber })))
    for (const shard of reference.shards)
      for (const entry of first!.indexes)
        expect(await shard.index(tableSpec(entry)).count({ prefix: [] })).toBe(0)
  })

  it('the first catalog has only the first of two definitions with one name', async () => {
    const other = defineIndex('by_link', { properties: { link: 'string', at: 'time' }, shardOn: 'link' })
    await init([byLink, byRank, other])
    const found = stored()[0]!.indexes.map(({ name, properties }) => `${name} ${properties.length}`)
    expect(found.toSorted()).toEqual(['by_link 1', 'by_rank 1'])
  })

  it('the first catalog has the policies and the queryTimeMs of its maker', async () => {
    await init([], { ...plain, policies: { onIndexFailure: 'defer' }, queryTimeMs: 700 })
    for (const catalog of stored())
      expect(catalog).toMatchObject({ mayDefer: true, onIndexFailure: 'defer', queryTimeMs: 700 })
  })

  it('an existing catalog stays as it is when another process opens with other options', async () => {
    await init()
    const before = stored()
    await init([byRank], { ...plain, policies: { onIndexFailure: 'defer' }, queryTimeMs: 700 })
    expect(stored()).toEqual(before)
  })

  it('the catalog of the process that was first on shard 0 is copied to all shards', async () => {
    let other: ShardCatalog | undefined
    plan = ({ table, operation, shard }) =>
      table === 'catalog' && operation === 'init' && shard === 0 && other === undefined
        ? {
            async before() {
              const layout = { shardNumber: 0, shardCount: 3, router: router.fingerprint }
              const agreed = { format: 1, requires: [], mayDefer: true, queryTimeMs: 9 }
              const contents = { epoch: 7, storeId: 'other', indexes: [], ...agreed }
              other = { ...layout, ...contents }
              await reference.shards[0]!.catalog.init(other)
            },
          }
        : undefined
    await init()
    expect(stored()).toEqual([0, 1, 2].map((shardNumber) => ({ ...other, shardNumber })))
  })
})

describe('a store with missing catalogs', () => {
  it('missing catalogs of later shards are copied from the first', async () => {
    await init([byLink], { ...plain, policies: { onIndexFailure: 'defer' }, queryTimeMs: 700 })
    await put(0, { epoch: 9 })
    const [first] = stored()
    const half = createReferenceDriver({ shards: 3 })
    await half.shards[0]!.catalog.init(first!)
    reference = half
    await init([byRank])
    expect(stored()).toEqual([0, 1, 2].map((shardNumber) => ({ ...first, shardNumber })))
  })

  it.each([0, 1, 2])(
    'a store with missing catalogs and entities on shard %d makes its indexes building',
    async (shard) => {
      await init()
      await putEntity(shard)
      const entities = reference.shards.map((each) => each.state())
      reference = createReferenceDriver({ shards: 3 })
      reference.shards[shard]!.fallBack(entities[shard]!, 'entities')
      await init()
      expect(stored().map(({ indexes }) => indexes[0]?.state)).toEqual(['building', 'building', 'building'])
    },
  )
})

describe('an existing store', () => {
  it('a shard with entities and without a catalog gets it back while others are in use', async () => {
    await init()
    for (const shard of [1, 2]) await putEntity(shard)
    const before = stored()
    const states = reference.shards.map((each) => each.state())
    reference = createReferenceDriver({ shards: 3 })
    for (const [shard, state] of states.entries())
      reference.shards[shard]!.fallBack(state, shard === 2 ? 'entities' : 'everything')
    await init()
    expect(stored()).toEqual(before)
  })

  it('open reads no entities if every shard has its catalog', async () => {
    await init()
    let pages = 0
    plan = ({ operation }) => {
      if (operation.startsWith('page')) pages++
      return undefined
    }
    await init()
    expect(pages).toBe(0)
  })
})

it('a database without tables is rejected as a shard of a store in use', async () => {
  const [one, other] = await Promise.all([memoryShards(2).connect(), memoryShards(2).connect()])
  const store = await DataStore.open({ shards: keepOpen(one), migrate: true })
  for (let i = 0; i < 20; i++) await store.put({ name: 'one' })
  const mixed = keepOpen({ ...one, shards: [one.shards[0]!, other.shards[1]!] })
  await expect(DataStore.open({ shards: mixed, migrate: true })).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringContaining('it is empty, but shard memory 0'),
  })
  await Promise.all([one.close(), other.close()])
})

it('no store is made if it is unknown whether shards are empty', async () => {
  plan = ({ operation }) =>
    operation.startsWith('page') ? { before: () => Promise.reject(new Error('no answer')) } : undefined
  await expect(init()).rejects.toThrow('no answer')
  expect(reference.shards[0]!.contents()).toBeUndefined()
})

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => 'it was taken',
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(LooseleafError)
  expect(error).toMatchObject({ code: 'LAYOUT_MISMATCH' })
  return (error as LooseleafError).message
}

describe('an empty shard in the place of one of a store in use', () => {
  /** Replaces one shard by an empty database. The others keep their contents. */
  function replace(shard: number): void {
    const states = reference.shards.map((each) => each.state())
    reference = createReferenceDriver({ shards: 3 })
    states.forEach(
      (state, number) => number !== shard && reference.shards[number]!.fallBack(state, 'everything'),
    )
  }

  beforeEach(async () => {
    await init()
    await putEntity(1)
  })

  it.each([
    [0, 'it is empty, but shard reference shard 1 belongs to a store already.'],
    [2, 'it is empty, but shard reference shard 1 holds entities of a store in use.'],
  ])(
    'an empty shard %i of a store in use is rejected, and nothing is written to it',
    async (number, problem) => {
      replace(number)
      const others = stored().filter((_, n) => n !== number)
      expect(await refusal(init())).toContain(`Shard reference shard ${number}: ${problem}`)
      expect(reference.shards[number]!.contents()).toBeUndefined()
      expect(stored().filter((_, n) => n !== number)).toEqual(others)
    },
  )

  it.each([0, 2])(
    'an empty shard %i of a store in use gets a catalog with acceptEmptyShards',
    async (number) => {
      const { storeId } = stored()[1]!
      replace(number)
      await init([byRank], { ...plain, acceptEmptyShards: true })
      expect(stored().map((catalog) => catalog.storeId)).toEqual([storeId, storeId, storeId])
      expect(stored()[number]!.indexes).toEqual(stored()[1]!.indexes)
    },
  )

  it('an empty shard gets the fingerprint that the store was made with, whichever map its process brings', async () => {
    const other = bucketRouter({ shards: 3, buckets: (bucket) => bucket % 3 })
    replace(2)
    await initialise(driver(), other, [], { ...plain, acceptEmptyShards: true })
    expect(stored()[2]).toEqual({ ...stored()[1], shardNumber: 2 })
  })

  it('an empty shard that another process is just making is accepted', async () => {
    replace(2)
    const [, second] = stored()
    let pages = 0
    plan = ({ operation, table, shard }) =>
      table === 'entities' && operation.startsWith('page') && shard === 2 && pages++ === 0
        ? {
            before: () =>
              reference.shards[2]!.catalog.init({ ...second!, shardNumber: 2 }).then(() => undefined),
          }
        : undefined
    await init()
    expect(pages).toBeGreaterThan(0)
    expect(stored()[2]).toEqual({ ...second, shardNumber: 2 })
  })
})

describe('shards of different stores', () => {
  beforeEach(async () => {
    await init()
  })

  it.each<[string, number, Partial<ShardCatalog>, string]>([
    [
      'a shard of a store of another size',
      1,
      { shardCount: 4, layout: undefined },
      'it belongs to a store of 4 shards, but by the other shards the store has 3',
    ],
    [
      'a shard with another number',
      2,
      { shardNumber: 1 },
      'it is shard 1 of its store, and so is reference shard 1',
    ],
    [
      'a shard of another store',
      1,
      { storeId: 'other' },
      'it belongs to another store (other) than the other shards (',
    ],
    [
      'a shard with another router',
      2,
      { router: 'other', layout: undefined },
      'its store was made with the router other, but the router given is',
    ],
  ])('%s is rejected', async (_, shard, fields, problem) => {
    await put(shard, fields)
    const named = `Shard reference shard ${shard}: ${problem}`
    expect(await refusal(init())).toContain(named)
    expect(await refusal(openCatalog(driver(), router))).toContain(named)
  })

  it('shards are rejected if the first is empty and another one is not', async () => {
    const given = createReferenceDriver({ shards: 3 })
    await given.shards[2]!.catalog.init(stored()[2]!)
    reference = given
    expect(await refusal(init())).toContain(
      'Shard reference shard 0: it is empty, but shard reference shard 2 belongs to a store already. Check',
    )
    expect(reference.shards[0]!.contents()).toBeUndefined()
  })

  it('shards that another process is just making, in their order, are accepted', async () => {
    let loads = 0
    plan = ({ table, operation, shard }) =>
      table === 'catalog' && operation === 'load' && shard === 0 && loads++ === 0
        ? { before: () => Promise.reject(new NotYet()) }
        : undefined
    const late = driver()
    const first = late.shards[0]!
    const catalog = {
      ...first.catalog,
      init: first.catalog.init,
      change: first.catalog.change,
      load: (options?: object) =>
        first.catalog.load(options).catch((error: unknown) => {
          if (error instanceof NotYet) return undefined
          throw error
        }),
    }
    const shards = [{ ...first, catalog }, ...late.shards.slice(1)]
    const before = stored()
    await initialise({ ...late, shards }, router, [byLink], plain)
    expect(stored()).toEqual(before)
    expect(loads).toBeGreaterThan(1)
  })

  it('a router with another fingerprint is rejected', async () => {
    expect(await refusal(openCatalog(driver(), moduloRouter({ shards: 3 })))).toContain(
      'with buckets of the scheme buckets-1, but the router given is modulo-1 shards=3.',
    )
  })
})

class NotYet extends Error {}

describe('opening', () => {
  beforeEach(async () => {
    await init([byLink], { ...plain, queryTimeMs: 700 })
  })

  it('open changes nothing if the shards agree', async () => {
    let changes = 0
    plan = ({ operation }) => {
      if (operation === 'change') changes++
      return undefined
    }
    expect(await openCatalog(driver(), router)).toMatchObject({ epochs: [1, 1, 1], queryTimeMs: 700 })
    expect(changes).toBe(0)
  })

  it('open finishes a change that a crash has interrupted', async () => {
    const indexes = stored()[0]!.indexes.map((entry): CatalogEntry => ({ ...entry, state: 'retiring' }))
    await put(0, { epoch: 5, indexes })
    expect(await openCatalog(driver(), router)).toMatchObject({
      epochs: [5, 5, 5],
      indexes: [{ state: 'retiring' }],
    })
  })

  it('open accepts no queryTimeMs other than that of the store', async () => {
    expect(await openCatalog(driver(), router, 700)).toMatchObject({ queryTimeMs: 700 })
    expect(await refusal(openCatalog(driver(), router, 800))).toMatch(/queryTimeMs of 700.*got 800/)
  })
})
