import { LooseleafError, type Driver } from '@looseleaf/core'
import type { CatalogEntry, IndexState, ShardCatalog } from '@looseleaf/core/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { linkIndex } from '../../test/link-index.ts'
import { changeCatalog, changeCatalogContents, propagateCatalog } from './change-catalog.ts'
import { loadCatalog, loadShardCatalogs } from './read-catalogs.ts'

/** Clock of the shards, in microseconds. */
let now: number
let reference: ReferenceDriver
let plan: FaultPlan
let driver: Driver

beforeEach(async () => {
  now = 1_000
  plan = () => undefined
  reference = createReferenceDriver({ shards: 3, now: () => now })
  driver = faultyDriver(reference, (call) => plan(call))
  for (const [shardNumber, { catalog }] of reference.shards.entries())
    await catalog.init(catalogOf({ shardNumber, shardCount: 3, epoch: 5, indexes: [linkIndex('building')] }))
})

const stored = (): (ShardCatalog | undefined)[] => reference.shards.map((shard) => shard.contents())
const epochs = (): (number | undefined)[] => stored().map((catalog) => catalog?.epoch)
const states = (): (IndexState | undefined)[] => stored().map((catalog) => catalog?.indexes[0]?.state)

/** Gives a shard an epoch and a state. */
async function put(shard: number, epoch: number, state: IndexState): Promise<void> {
  const { catalog } = reference.shards[shard]!
  const current = (await catalog.load())!
  expect(await catalog.change({ ...current, epoch, indexes: [linkIndex(state)] }, current.epoch)).toBe(true)
}

const toReady = (): CatalogEntry[] => [linkIndex('ready')]

describe('changeCatalog', () => {
  it('a change is on every shard when the call resolves, and each shard keeps its own fields', async () => {
    const catalog = await changeCatalog(driver, toReady)
    expect(catalog).toMatchObject({ epochs: [1_000, 1_000, 1_000], indexes: [{ state: 'ready' }] })
    expect(states()).toEqual(['ready', 'ready', 'ready'])
    expect(stored().map((each) => each?.shardNumber)).toEqual([0, 1, 2])
  })

  it('a change goes to shard 0 first, then to the others', async () => {
    const order: string[] = []
    plan = ({ table, operation, shard }) =>
      table === 'catalog' && operation === 'change'
        ? { before: () => void order.push(`${shard} after ${states().join()}`) }
        : undefined
    await changeCatalog(driver, toReady)
    expect(order[0]).toBe('0 after building,building,building')
    expect(order.slice(1).toSorted()).toEqual([
      '1 after ready,building,building',
      '2 after ready,building,building',
    ])
  })

  it('the epoch is the time of shard 0, or one more than the last if its clock has gone back', async () => {
    now = 5
    expect((await changeCatalog(driver, toReady)).epochs).toEqual([6, 6, 6])
    now = 7
    expect((await changeCatalog(driver, toReady)).epochs).toEqual([7, 7, 7])
  })

  it('a call without a change completes the change of another process', async () => {
    await put(0, 9, 'ready')
    expect(await changeCatalog(driver, () => undefined)).toMatchObject({ epochs: [9, 9, 9] })
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  it('changeCatalogContents changes other fields than indexes', async () => {
    const changed = await changeCatalogContents(driver, ({ indexes }) => ({ indexes, mayDefer: true }))
    expect(changed).toMatchObject({ everyoneLooks: true, indexes: [{ state: 'building' }] })
    expect(stored().map((catalog) => catalog?.mayDefer)).toEqual([true, true, true])
  })

  it('a change is repeated on the catalog that another process has stored', async () => {
    const seen: (IndexState | undefined)[] = []
    let isFirst = true
    plan = ({ operation, shard }) => {
      if (operation !== 'change' || shard !== 0 || !isFirst) return undefined
      isFirst = false
      return { before: () => put(0, 8, 'retiring') }
    }
    await changeCatalog(driver, (indexes) => {
      seen.push(indexes[0]?.state)
      return toReady()
    })
    expect(seen).toEqual(['building', 'retiring'])
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  it('a change that is based on other contents than those of the catalog changes nothing', async () => {
    expect(await changeCatalog(driver, toReady, { contentsEpoch: 4 })).toMatchObject({ epochs: [5, 5, 5] })
    expect(await changeCatalog(driver, toReady, { contentsEpoch: 5 })).toMatchObject({
      epochs: [1_000, 1_000, 1_000],
    })
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  it('a change is repeated when a shard loses it, and rejects with CONFLICT after 50 attempts', async () => {
    let changes = 0
    let losses = 1
    plan = ({ operation, shard }) =>
      operation === 'change' && shard === 2 && losses-- > 0
        ? { after: () => put(2, 6, 'building') }
        : undefined
    const change = (): CatalogEntry[] => {
      changes++
      now++
      return toReady()
    }
    expect((await changeCatalog(driver, change)).epochs).toEqual([1_002, 1_002, 1_002])
    expect(changes).toBe(2)

    losses = Infinity
    await expect(changeCatalog(driver, change)).rejects.toMatchObject({
      code: 'CONFLICT',
      shard: 'reference shard 0',
    })
    expect(changes).toBe(2 + 50)
  })

  it('a change is repeated until `holds` is true on every shard', async () => {
    let undone = 1
    plan = ({ operation, shard }) =>
      operation === 'change' && shard === 1 && undone-- > 0
        ? { after: () => put(1, now + 5, 'retiring') }
        : undefined
    let changes = 0
    const catalog = await changeCatalog(
      driver,
      () => {
        changes++
        now += 10
        return toReady()
      },
      { holds: ({ indexes }) => indexes[0]?.state === 'ready' },
    )
    expect(changes).toBe(2)
    expect(catalog.indexes).toMatchObject([{ state: 'ready' }])
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  it('a change passes its signal to every statement', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const signals: unknown[] = []
    plan = ({ table, args, operation }) => {
      if (table === 'catalog' || operation === 'now')
        signals.push((args.at(-1) as { signal?: unknown } | undefined)?.signal)
      return undefined
    }
    await changeCatalog(driver, toReady, { signal })
    expect(signals.length).toBeGreaterThan(5)
    expect(new Set(signals)).toEqual(new Set([signal]))
  })
})

describe('shards with different catalogs', () => {
  it('shards behind shard 0 take over its catalog', async () => {
    await put(0, 9, 'ready')
    await put(1, 7, 'retiring')
    expect(await propagateCatalog(driver)).toMatchObject({ epochs: [9, 9, 9] })
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  it('shards take over the newest catalog if shard 0 has lost it', async () => {
    await put(1, 9, 'retiring')
    await put(2, 7, 'ready')
    expect(await propagateCatalog(driver)).toMatchObject({ epochs: [9, 9, 9] })
    expect(states()).toEqual(['retiring', 'retiring', 'retiring'])
    await put(2, 11, 'ready')
    expect(await propagateCatalog(driver)).toMatchObject({ epochs: [11, 11, 11] })
  })

  it('a shard keeps a newer catalog that another process stores during the copy', async () => {
    await put(0, 9, 'ready')
    plan = ({ operation, shard }) => {
      if (operation !== 'change' || shard !== 1) return undefined
      plan = () => undefined
      return { before: () => put(1, 12, 'retiring') }
    }
    await propagateCatalog(driver)
    expect(epochs()).toEqual([9, 12, 9])
    await propagateCatalog(driver)
    expect(epochs()).toEqual([12, 12, 12])
  })

  it('a shard is copied to again if another process stores an older catalog during the copy', async () => {
    await put(0, 9, 'ready')
    plan = ({ operation, shard }) => {
      if (operation !== 'change' || shard !== 1) return undefined
      plan = () => undefined
      return { before: () => put(1, 7, 'retiring') }
    }
    await propagateCatalog(driver)
    expect(epochs()).toEqual([9, 9, 9])
    expect(states()).toEqual(['ready', 'ready', 'ready'])
  })

  const down = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
  const failing = (refused: string, error: Error): FaultPlan => {
    return ({ operation, shard }) =>
      operation === refused && shard === 1 ? { before: () => Promise.reject(error) } : undefined
  }

  it.each(['change', 'flush'])(
    'a shard that refuses a %s fails the call, unless it may lack it',
    async (refused) => {
      plan = failing(refused, down)
      await expect(changeCatalog(driver, toReady)).rejects.toBe(down)
      await expect(changeCatalog(driver, toReady, { mayLack: 2 })).rejects.toBe(down)
      await changeCatalog(driver, toReady, { mayLack: 1 })
      expect(states().toSpliced(1, 1)).toEqual(['ready', 'ready'])
    },
  )

  it.each([new LooseleafError('ABORTED', 'The signal has fired.'), new TypeError('a mistake')])(
    'an error that is not of the shard fails the call, also if the shard may lack the change (%s)',
    async (error) => {
      plan = failing('change', error)
      await expect(changeCatalog(driver, toReady, { mayLack: 1 })).rejects.toBe(error)
    },
  )

  it('propagateCatalog writes nothing if all catalogs are equal', async () => {
    let changes = 0
    plan = ({ operation }) => {
      if (operation === 'change') changes++
      return undefined
    }
    await propagateCatalog(driver)
    expect(changes).toBe(0)
  })
})

it('reading a shard without a catalog rejects with NOT_MIGRATED', async () => {
  const empty = createReferenceDriver({ shards: 1 })
  for (const load of [loadCatalog, loadShardCatalogs, propagateCatalog]) {
    await expect(load(empty)).rejects.toMatchObject({ code: 'NOT_MIGRATED', shard: 'reference shard 0' })
  }
})

it('copying to a shard that loses its catalog rejects with NOT_MIGRATED', async () => {
  await put(0, 9, 'ready')
  let loads = 0
  const [first, second, third] = reference.shards
  const losing: Driver = {
    ...reference,
    shards: [
      first!,
      {
        ...second!,
        catalog: { ...second!.catalog, load: async () => (loads++ === 0 ? second!.contents() : undefined) },
      },
      third!,
    ],
  }
  await expect(propagateCatalog(losing)).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
})
