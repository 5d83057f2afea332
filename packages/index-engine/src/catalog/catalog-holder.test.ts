import type { ShardCatalog } from '@looseleaf/core/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { lastByteRouter } from '../../test/model.ts'
import { mergeCatalogs } from './catalog.ts'
import { createCatalogHolder, type CatalogHolder } from './catalog-holder.ts'

let reference: ReferenceDriver
let holder: CatalogHolder
/** Loads of shard 0 that have begun. Each ends when the test resolves it. */
let loads: PromiseWithResolvers<void>[]

beforeEach(async () => {
  reference = createReferenceDriver({ shards: 2 })
  loads = []
  for (const [shardNumber, { catalog }] of reference.shards.entries()) {
    await catalog.init(shardCatalog(1, shardNumber))
  }
  const driver = faultyDriver(reference, ({ table, operation, shard }) => {
    if (table !== 'catalog' || operation !== 'load' || shard !== 0) return undefined
    const held = Promise.withResolvers<void>()
    loads.push(held)
    return { after: () => held.promise }
  })
  holder = createCatalogHolder(
    driver,
    lastByteRouter(2),
    mergeCatalogs([shardCatalog(1, 0), shardCatalog(1, 1)]),
  )
})

function shardCatalog(epoch: number, shardNumber: number): ShardCatalog {
  return catalogOf({ epoch, shardNumber, shardCount: 2 })
}

/** Changes the catalog as another process does. */
async function change(...epochs: number[]): Promise<void> {
  for (const [shard, epoch] of epochs.entries()) {
    const { catalog } = reference.shards[shard]!
    const current = (await catalog.load())!
    await catalog.change({ ...current, epoch }, current.epoch)
  }
}

const epochs = (): readonly number[] => holder.current().epochs
const turns = async (): Promise<void> => void (await new Promise((resolve) => setImmediate(resolve)))

describe('reload of the catalog', () => {
  it('a reload takes over the stored catalogs', async () => {
    await change(5, 6)
    const reading = holder.reload()
    await turns()
    expect(epochs()).toEqual([1, 1])
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([5, 6])
    expect(epochs()).toEqual([5, 6])
  })

  it('a reload begins after its call, and waiting calls share it', async () => {
    const first = holder.reload()
    await turns()
    const later = [holder.reload(), holder.reload()]
    await turns()
    // The reload in flight may have missed a change that the later callers know of.
    expect(loads).toHaveLength(1)
    await change(7, 7)
    loads[0]!.resolve()
    expect((await first).epochs).toEqual([1, 1])
    await turns()
    expect(loads).toHaveLength(2)
    loads[1]!.resolve()
    for (const { epochs: read } of await Promise.all(later)) expect(read).toEqual([7, 7])
    await turns()
    expect(loads).toHaveLength(2)
    void holder.reload()
    await turns()
    expect(loads).toHaveLength(3)
    loads[2]!.resolve()
  })

  it('current throws STORE_TOO_NEW from the reload that finds an unknown feature until one that does not', async () => {
    const { catalog } = reference.shards[1]!
    const known = (await catalog.load())!
    await catalog.change({ ...known, epoch: 2, requires: [{ name: 'folding', since: '7.8.9' }] }, 1)
    const reading = holder.reload()
    loads[0]!.resolve()
    await expect(reading).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
    expect(epochs).toThrow(expect.objectContaining({ code: 'STORE_TOO_NEW' }))
    await catalog.change({ ...known, epoch: 3 }, 2)
    const again = holder.reload()
    loads[1]!.resolve()
    await again
    expect(epochs()).toEqual([1, 3])
  })

  it('a reload that fails rejects its own callers, and the next one still begins', async () => {
    const first = holder.reload()
    await turns()
    const second = holder.reload()
    await turns()
    await change(3, 3)
    loads[0]!.reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    await turns()
    loads[1]!.resolve()
    expect((await second).epochs).toEqual([3, 3])
  })

  it('a reload works after one that has failed', async () => {
    const first = holder.reload()
    await turns()
    loads[0]!.reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    const second = holder.reload()
    await turns()
    loads[1]!.resolve()
    expect((await second).epochs).toEqual([1, 1])
  })

  it('a signal aborts its own call of reload only', async () => {
    const controller = new AbortController()
    const given = holder.reload({ signal: controller.signal })
    const other = holder.reload()
    await turns()
    controller.abort()
    await expect(given).rejects.toMatchObject({ code: 'ABORTED' })
    loads[0]!.resolve()
    await turns()
    loads[1]!.resolve()
    expect((await other).epochs).toEqual([1, 1])
  })

  it('an aborted signal prevents a reload', async () => {
    await expect(holder.reload({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' })
    await turns()
    expect(loads).toHaveLength(0)
  })

  it('a reload with a signal resolves if the signal does not fire', async () => {
    const { signal } = new AbortController()
    const reading = holder.reload({ signal })
    await turns()
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([1, 1])
  })
})

describe('the first catalog', () => {
  it('the first catalog is refused if the driver has the entities in another table', () => {
    const { shards } = reference
    const driver = { ...reference, shards: shards.map((shard) => ({ ...shard, entityTable: 'pages' })) }
    const catalogs = [0, 1].map((number) => ({ ...shardCatalog(1, number), entityTable: 'entities' }))
    // Another process has named the table since the opening compared the catalogs.
    expect(() => createCatalogHolder(driver, lastByteRouter(2), mergeCatalogs(catalogs))).toThrow(
      expect.objectContaining({
        code: 'LAYOUT_MISMATCH',
        message: expect.stringContaining('pages') as string,
      }),
    )
  })
})

describe('adopt', () => {
  const read = (...all: number[]) => mergeCatalogs(all.map((epoch, shard) => shardCatalog(epoch, shard)))

  it('adopt takes over a catalog unless any shard of it is behind', () => {
    for (const [given, expected] of [
      [
        [2, 2],
        [2, 2],
      ],
      [
        [3, 1],
        [2, 2],
      ],
      [
        [1, 3],
        [2, 2],
      ],
      [
        [2, 3],
        [2, 3],
      ],
      [
        [2, 3],
        [2, 3],
      ],
    ] as const) {
      holder.adopt(read(...given))
      expect(epochs()).toEqual(expected)
    }
  })

  it('adopt takes over a catalog with an added shard', () => {
    holder.adopt(read(2, 2, 1))
    expect(epochs()).toEqual([2, 2, 1])
  })

  it('an adopted catalog survives an older reload', async () => {
    const reading = holder.reload()
    await turns()
    holder.adopt(read(9, 9))
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([9, 9])
    expect(epochs()).toEqual([9, 9])
  })

  it('an adopted catalog gives way to a reload with higher epochs', async () => {
    await change(12, 12)
    const reading = holder.reload()
    await turns()
    holder.adopt(read(9, 9))
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([12, 12])
  })

  it('an adopted catalog gives way to a later reload with lower epochs, after a failover that lost the change', async () => {
    holder.adopt(read(9, 9))
    const reading = holder.reload()
    await turns()
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([1, 1])
    expect(epochs()).toEqual([1, 1])
  })
})
