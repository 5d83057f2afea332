import type { DriverFactory, IndexDefinitionData } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, entriesOf, hasIndexTable, tableSpec } from '@looseleaf/index-engine/internal'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

// Generations of a unique index with the same keys share their claims. Generations with other keys have their own.

const mail = { properties: { mail: 'string' }, shardOn: 'mail' } as const
const plain = defineIndex('by_mail', { ...mail, unique: true })
const listed = defineIndex('by_mail', { ...mail, unique: true, include: ['title'] })
const wider = defineIndex('by_mail', { ...mail, unique: true, include: ['title', 'likes'] })
const lower = defineIndex('by_mail', {
  properties: { mail: { type: 'string', key: 'lower' } },
  shardOn: 'mail',
  unique: true,
})
const downward = defineIndex('by_mail', {
  properties: { mail: { type: 'string', order: 'desc' } },
  shardOn: 'mail',
  unique: true,
})

let driver: ReferenceDriver
let plan: FaultPlan
beforeEach(() => {
  driver = createReferenceDriver({ shards: 2 })
  plan = () => undefined
})

function open(
  indexes: readonly IndexDefinitionData[],
  {
    migrate = true,
    onWarning = () => undefined,
  }: { migrate?: boolean; onWarning?: (text: string) => void } = {},
): Promise<DataStore> {
  const faulty = faultyDriver(driver, (call) => plan(call))
  const shards: DriverFactory = { shardCount: 2, connect: async () => faulty }
  return DataStore.open({ shards, indexes, migrate, onWarning })
}

/** Runs `work` before the change of shard 0's catalog with this number, counted from 1. */
function beforeChange(number: number, work: () => Promise<void>): void {
  let changes = 0
  plan = ({ shard, operation }) =>
    shard === 0 && operation === 'change' && ++changes === number ? { before: work } : undefined
}

/** Makes all indexes ready, as the cleaner does once they are filled. */
async function makeReady(store: DataStore): Promise<void> {
  const change = await changeCatalog(store.context.driver, (indexes) =>
    indexes.map((entry) => (entry.state === 'building' ? { ...entry, state: 'ready' } : entry)),
  )
  store.context.catalog.adopt(change)
}

async function states(store: DataStore): Promise<string[]> {
  const indexes = await store.indexes()
  return indexes
    .map(({ table, state, hidden, paused }) =>
      [table, state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(' '),
    )
    .toSorted()
}

async function expectUnique(store: DataStore): Promise<void> {
  await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
}

/** Opens a store with these generations, all ready, and one entity. */
async function openWith(...indexes: readonly IndexDefinitionData[]): Promise<DataStore> {
  const store = await open([])
  for (const index of indexes) await store.addIndex(index)
  await makeReady(store)
  await store.put({ mail: 'ada' })
  return store
}

it('a generation with another include shares the existing claims', async () => {
  const store = await openWith(plain)
  await store.addIndex(listed)
  expect(await states(store)).toEqual([
    'claims_by_mail ready',
    'index_by_mail ready',
    'index_by_mail_2 building',
  ])
  expect(await store.indexes()).toMatchObject([{}, {}, { generation: 2, include: ['title'] }])
})

describe('claims that generations share', () => {
  it.each([
    ['definitions', [plain, listed, wider]],
    ['numbers', [1, 2, 3].map((generation) => ({ name: 'by_mail', generation }))],
  ])('shared claims stay until the last generation is dropped, by %s', async (_, [first, second, third]) => {
    const store = await openWith(plain, listed, wider)
    await store.dropIndex(first!)
    await expectUnique(store)
    await store.dropIndex(third!)
    await expectUnique(store)
    expect(await states(store)).toEqual(['claims_by_mail ready', 'index_by_mail_2 ready'])
    expect(await store.dropIndex(first!)).toBe(false)
    expect(await store.dropIndex(second!)).toBe(true)
    expect(await states(store)).toEqual([])
    await store.put({ mail: 'ada' })
  })

  it('shared claims stay for a hidden generation', async () => {
    const store = await openWith(plain, listed)
    await store.hideIndex(plain)
    await store.dropIndex(listed)
    expect(await states(store)).toEqual(['claims_by_mail ready', 'index_by_mail ready hidden'])
    await expectUnique(store)
  })

  it('shared claims are hidden with the last generation, and shown with the first', async () => {
    const store = await openWith(plain, listed)
    await store.hideIndex(plain)
    expect(await states(store)).toContain('claims_by_mail ready')
    await store.hideIndex({ name: 'by_mail', generation: 2 })
    expect(await states(store)).toEqual([
      'claims_by_mail ready hidden',
      'index_by_mail ready hidden',
      'index_by_mail_2 ready hidden',
    ])
    await store.restoreIndex(listed)
    expect(await states(store)).toEqual([
      'claims_by_mail ready',
      'index_by_mail ready hidden',
      'index_by_mail_2 ready',
    ])
    await store.hideIndex('by_mail')
    await store.addIndex(wider)
    expect(await states(store)).toContain('claims_by_mail ready')
  })

  it('shared claims are paused with any selected generation', async () => {
    const store = await open([])
    await store.put({ mail: 'ada' })
    await store.addIndex(listed)
    expect(await store.dropIndex({ name: 'by_mail', generation: 7 })).toBe(false)
    expect(await store.pauseIndex(plain)).toBe(false)
    expect(await store.pauseIndex(listed)).toBe(true)
    expect(await states(store)).toEqual(['claims_by_mail building paused', 'index_by_mail building paused'])
    expect(await store.resumeIndex({ name: 'by_mail', generation: 1 })).toBe(true)
    expect(await states(store)).toEqual(['claims_by_mail building', 'index_by_mail building'])
  })

  it('shared claims are not changed by programs with different onMisfit', async () => {
    const store = await openWith(plain, { ...listed, onMisfit: 'skip' })
    const before = (await store.context.catalog.reload()).epochs
    await open([plain])
    await open([{ ...listed, onMisfit: 'skip' }])
    expect((await store.context.catalog.reload()).epochs).toEqual(before)
  })

  it('open with any of the generations that share claims warns of nothing', async () => {
    await openWith(plain, listed)
    const warnings: string[] = []
    for (const index of [plain, listed])
      await open([index], { migrate: false, onWarning: (text) => warnings.push(text) })
    expect(warnings).toEqual([])
  })

  it.each([
    ['stay for', 'drops the other', plain, ['claims_by_mail ready', 'index_by_mail_2 ready']],
    ['go with', 'drops all of its name', 'by_mail', []],
  ])('claims %s a generation that another process adds while this one %s', async (_, __, which, expected) => {
    const store = await openWith(plain)
    beforeChange(1, async () => {
      // The other process has taken over the lease.
      const [rows] = entriesOf(listed)
      const entry = { ...rows!, generation: 2, table: 'index_by_mail_2', state: 'ready' as const }
      for (const each of driver.shards) await each.createIndexTable(tableSpec(entry))
      await changeCatalog(driver, (indexes) => [...indexes, entry])
    })
    await store.dropIndex(which)
    expect(await states(store)).toEqual(expected)
  })
})

describe('an index that two processes change at once', () => {
  /** Marks all indexes as dropped in the catalogs, and leaves their tables. */
  const dropAll = async (): Promise<void> => {
    await changeCatalog(driver, (indexes) => indexes.map((entry) => ({ ...entry, state: 'dropped' })))
  }

  it.each([1, 2])(
    'adding an index makes new claims if another process drops the shared ones (%i)',
    async (change) => {
      const store = await openWith(plain)
      beforeChange(change, dropAll)
      await store.addIndex(listed)
      expect(await states(store)).toEqual(['claims_by_mail_2 building', 'index_by_mail_3 building'])
      await makeReady(store)
      await store.put({ mail: 'eve' })
      await expect(store.put({ mail: 'eve' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    },
  )

  it('adding claims makes new rows if another process drops the rows', async () => {
    const { unique: _, ...rows } = plain
    const store = await openWith(rows)
    beforeChange(2, dropAll)
    await store.addIndex(plain)
    expect(await states(store)).toEqual(['claims_by_mail_2 building', 'index_by_mail_2 building'])
  })

  it('adding an index shows shared claims that another process has hidden', async () => {
    const store = await openWith(plain)
    const other = await open([plain])
    beforeChange(2, async () => void (await other.hideIndex('by_mail')))
    await store.addIndex(listed)
    expect(await states(store)).toEqual([
      'claims_by_mail ready',
      'index_by_mail ready hidden',
      'index_by_mail_2 building',
    ])
  })

  it('an index that another process drops while it is replaced has no new generation', async () => {
    const store = await openWith(listed)
    for (const shard of driver.shards) await shard.dropIndexTable({ table: 'index_by_mail', columns: [] })
    beforeChange(2, dropAll)
    await replaceLostIndexes(store.context)
    expect(await states(store)).toEqual([])
    const tables = await Promise.all(
      driver.shards.map((shard) =>
        hasIndexTable(shard, {
          ...entriesOf(listed)[0]!,
          generation: 2,
          table: 'index_by_mail_2',
          state: 'ready',
        }),
      ),
    )
    expect(tables).toEqual([false, false])
  })
})

it.each([
  ['a derived key', lower],
  ['another order', downward],
])('a generation of %s has its own claims, which are dropped with it', async (_, other) => {
  const store = await openWith(plain, other)
  expect(await states(store)).toEqual([
    'claims_by_mail ready',
    'claims_by_mail_2 ready',
    'index_by_mail ready',
    'index_by_mail_2 ready',
  ])
  await store.hideIndex(plain)
  expect(await states(store)).toContain('claims_by_mail ready hidden')
  await store.dropIndex(plain)
  expect(await states(store)).toEqual(['claims_by_mail_2 ready', 'index_by_mail_2 ready'])
  await expectUnique(store)
})

describe('a retiring generation of a drop that has crashed', () => {
  /** Leaves a retiring generation, whose definition is in use again as the next one. */
  async function halfDropped(): Promise<DataStore> {
    const store = await openWith(listed)
    await changeCatalog(driver, (indexes) => indexes.map((entry) => ({ ...entry, state: 'retiring' })))
    const next = await open([listed])
    await makeReady(next)
    await next.put({ mail: 'eve' })
    await store.close()
    expect(await states(next)).toEqual([
      'claims_by_mail retiring',
      'claims_by_mail_2 ready',
      'index_by_mail retiring',
      'index_by_mail_2 ready',
    ])
    return next
  }

  it('dropping a retiring generation by its number drops its own claims and no others', async () => {
    const store = await halfDropped()
    expect(await store.dropIndex({ name: 'by_mail', generation: 1 })).toBe(true)
    expect(await states(store)).toEqual(['claims_by_mail_2 ready', 'index_by_mail_2 ready'])
    expect((await store.list(listed, { mail: 'eve' })).items).toHaveLength(1)
    await expect(store.put({ mail: 'eve' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })

  it('dropping by definition drops a retiring generation and its successor', async () => {
    const store = await halfDropped()
    await store.dropIndex(listed)
    expect(await states(store)).toEqual([])
  })

  it('hideIndex does not hide a retiring generation', async () => {
    const store = await halfDropped()
    expect(await store.hideIndex({ name: 'by_mail', generation: 1 })).toBe(false)
    expect(await states(store)).toContain('claims_by_mail_2 ready')
  })
})

describe('a hidden unique index with a missing table', () => {
  const lose = async (table: string): Promise<void> => {
    for (const shard of driver.shards) await shard.dropIndexTable({ table, columns: [] })
  }

  it('a hidden unique index with missing claims gets new ones', async () => {
    const store = await openWith(listed)
    await store.hideIndex('by_mail')
    await lose('claims_by_mail')
    await open([])
    expect(await states(store)).toEqual(['claims_by_mail_2 building', 'index_by_mail ready hidden'])
  })

  it('a hidden unique index with missing rows is dropped with its claims', async () => {
    const store = await openWith(listed)
    await store.hideIndex('by_mail')
    await lose('index_by_mail')
    await open([])
    expect(await states(store)).toEqual([])
  })

  it('a hidden unique index with missing rows leaves its claims to another generation', async () => {
    const store = await openWith(plain, listed)
    await store.hideIndex(plain)
    await lose('index_by_mail')
    await open([])
    expect(await states(store)).toEqual(['claims_by_mail ready', 'index_by_mail_2 ready'])
  })
})
