import type { ShardCatalog } from '@looseleaf/core'
import { faultyDriver } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { mergeCatalogs } from './catalog.ts'
import { createCatalogHolder, type CatalogHolder } from './engine-context.ts'

let reference: ReferenceDriver
let holder: CatalogHolder
/** Loads of shard 0 that have begun, each of which ends when it is let go. */
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
  holder = createCatalogHolder(driver, mergeCatalogs([shardCatalog(1, 0), shardCatalog(1, 1)]))
})

function shardCatalog(epoch: number, shardNumber: number): ShardCatalog {
  const layout = { shardNumber, shardCount: 2, router: 'any', storeId: 'store' }
  return { ...layout, epoch, indexes: [], mayDefer: undefined }
}

/** Another process has changed the catalog. */
async function change(...epochs: number[]): Promise<void> {
  for (const [shard, epoch] of epochs.entries()) {
    const { catalog } = reference.shards[shard]!
    const current = (await catalog.load())!
    await catalog.change({ ...current, epoch }, current.epoch)
  }
}

const epochs = (): readonly number[] => holder.current().epochs
const turns = async (): Promise<void> => void (await new Promise((resolve) => setImmediate(resolve)))

describe('reading the catalog', () => {
  it('takes over what is there', async () => {
    await change(5, 6)
    const reading = holder.reload()
    await turns()
    expect(epochs()).toEqual([1, 1])
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([5, 6])
    expect(epochs()).toEqual([5, 6])
  })

  it('begins after the call, and is shared by all who wait for that', async () => {
    const first = holder.reload()
    await turns()
    const later = [holder.reload(), holder.reload()]
    await turns()
    // One is under way, which may have missed what the later callers know of.
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

  it('that finds what this version does not know leaves nothing to go by, until one finds it no more', async () => {
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

  it('that fails fails for those who waited for it, and the next one is made', async () => {
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

  it('that fails is not the last one', async () => {
    const first = holder.reload()
    await turns()
    loads[0]!.reject(new Error('away'))
    await expect(first).rejects.toThrow('away')
    const second = holder.reload()
    await turns()
    loads[1]!.resolve()
    expect((await second).epochs).toEqual([1, 1])
  })

  it('is given up by a signal, for its own call alone', async () => {
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

  it('is not begun when the signal has fired before', async () => {
    await expect(holder.reload({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' })
    await turns()
    expect(loads).toHaveLength(0)
  })

  it('with a signal that does not fire is as without', async () => {
    const { signal } = new AbortController()
    const reading = holder.reload({ signal })
    await turns()
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([1, 1])
  })
})

describe('a catalog that was just read by others', () => {
  const read = (...all: number[]) => mergeCatalogs(all.map((epoch, shard) => shardCatalog(epoch, shard)))

  it('is taken over unless it is behind, on any shard', () => {
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

  it('may have a shard more than was known', () => {
    holder.adopt(read(2, 2, 1))
    expect(epochs()).toEqual([2, 2, 1])
  })

  it('stays when a reading ends that has begun before it', async () => {
    const reading = holder.reload()
    await turns()
    holder.adopt(read(9, 9))
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([9, 9])
    expect(epochs()).toEqual([9, 9])
  })

  it('gives way to a reading with a higher epoch all the same', async () => {
    await change(12, 12)
    const reading = holder.reload()
    await turns()
    holder.adopt(read(9, 9))
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([12, 12])
  })

  it('gives way to a reading with lower epochs that begins after it: a failover has lost the change', async () => {
    holder.adopt(read(9, 9))
    const reading = holder.reload()
    await turns()
    loads[0]!.resolve()
    expect((await reading).epochs).toEqual([1, 1])
    expect(epochs()).toEqual([1, 1])
  })
})
