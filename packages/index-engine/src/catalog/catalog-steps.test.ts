import { LooseleafError } from '@looseleaf/core'
import type { IndexState, ShardCatalog } from '@looseleaf/core/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { linkIndex } from '../../test/link-index.ts'
import { lastByteRouter } from '../../test/model.ts'
import { mergeCatalogs } from './catalog.ts'
import { propagateCatalog } from './change-catalog.ts'
import { createCatalogHolder } from './catalog-holder.ts'
import { loadCatalog } from './read-catalogs.ts'

const catalogWith = (shardNumber: number, epoch: number, state: IndexState): ShardCatalog =>
  catalogOf({ shardNumber, shardCount: 3, epoch, indexes: [linkIndex(state)], queryTimeMs: 700 })

describe('a catalog without an answer from one shard', () => {
  it('a shard that never answered leaves the catalog to the other shards', () => {
    const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    const catalog = mergeCatalogs([undefined, catalogWith(1, 7, 'ready'), catalogWith(2, 8, 'ready')], [away])
    expect(catalog).toMatchObject({
      storeId: 'store',
      epochs: [0, 7, 8],
      indexes: [{ name: 'by_link', state: 'ready' }],
      mayDefer: false,
      everyoneLooks: false,
      queryTimeMs: 700,
      silent: [away],
    })
    expect(catalog.shards[0]).toBeUndefined()
  })
})

/** Creates shards of which shard 0 has a newer catalog. */
async function shardsApart(): Promise<ReferenceDriver> {
  const reference = createReferenceDriver({ shards: 3 })
  for (const [shard, { catalog }] of reference.shards.entries())
    await catalog.init(catalogWith(shard, shard === 0 ? 9 : 5, shard === 0 ? 'ready' : 'building'))
  return reference
}

describe('propagateCatalog', () => {
  /** `operation shard` for each call that begins, `operation shard ended` for each that has ended. */
  let log: string[]
  beforeEach(() => {
    log = []
  })

  /** Calls of a shard take longer the higher its number is. */
  const slow = (reference: ReferenceDriver) =>
    faultyDriver(reference, ({ shard, operation }) => {
      log.push(`${operation} ${shard}`)
      return {
        async before() {
          for (let turn = 0; turn <= 5 * shard; turn++) await new Promise((resolve) => setImmediate(resolve))
        },
        after: () => void log.push(`${operation} ${shard} ended`),
      }
    })
  const times = (call: string): number => log.filter((each) => each === call).length

  it('propagateCatalog copies to each shard once, then flushes, then reads again', async () => {
    expect((await propagateCatalog(slow(await shardsApart()))).epochs).toEqual([9, 9, 9])
    expect([times('change 1'), times('change 2')]).toEqual([1, 1])
    const firstFlush = log.findIndex((each) => each.startsWith('flush'))
    expect(firstFlush).toBeGreaterThan(log.indexOf('change 2 ended'))
    for (const shard of [0, 1, 2]) {
      expect(times(`flush ${shard} ended`)).toBe(1)
      expect(log.lastIndexOf('load 0')).toBeGreaterThan(log.indexOf(`flush ${shard} ended`))
    }
  })

  it('shard 0 takes over a newer catalog before it is copied to the others', async () => {
    const reference = await shardsApart()
    const { catalog } = reference.shards[1]!
    await catalog.change(catalogWith(1, 12, 'retiring'), 5)
    const driver = faultyDriver(slow(reference), ({ shard, operation }) =>
      shard === 0 && operation === 'change'
        ? { before: () => new Promise((resolve) => setTimeout(resolve, 10)) }
        : undefined,
    )
    expect((await propagateCatalog(driver)).epochs).toEqual([12, 12, 12])
    expect(times('change 0')).toBe(1)
  })
})

describe('a shard that does not answer a reload', () => {
  it('a shard that does not answer keeps its last known catalog, and its error is reported', async () => {
    const reference = await shardsApart()
    const away = new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
    let isAway = false
    const driver = faultyDriver(reference, ({ shard }) =>
      isAway && shard === 1 ? { before: () => Promise.reject(away) } : undefined,
    )
    const holder = createCatalogHolder(driver, lastByteRouter(3), await loadCatalog(driver))
    isAway = true
    expect(await holder.reload({})).toMatchObject({ epochs: [9, 5, 5], silent: [away] })
    isAway = false
    expect((await holder.reload()).silent).toEqual([])
  })

  it('a shard that answers a reload of its own catalog is no longer reported as silent, but other shards are', async () => {
    const reference = await shardsApart()
    const errors = reference.shards.map(
      ({ name }) => new LooseleafError('SHARD_UNAVAILABLE', 'Away.', { shard: name }),
    )
    let away: readonly number[] = []
    const driver = faultyDriver(reference, ({ shard }) =>
      away.includes(shard) ? { before: () => Promise.reject(errors[shard]!) } : undefined,
    )
    const holder = createCatalogHolder(driver, lastByteRouter(3), await loadCatalog(driver))
    away = [1, 2]
    expect((await holder.reload()).silent).toEqual([errors[1], errors[2]])
    away = [2]
    const { catalog } = reference.shards[1]!
    await catalog.change({ ...catalogWith(1, 6, 'building'), contentsEpoch: 5 }, 5)
    expect(await holder.reloadShard(1)).toMatchObject({ epochs: [9, 6, 5], silent: [errors[2]] })
  })
})

describe('a shard that loses a copied catalog', () => {
  let reference: ReferenceDriver
  let plan: FaultPlan
  beforeEach(async () => {
    reference = await shardsApart()
  })

  /** Makes shard 2 lose its copy so many times. */
  function loseCopies(times: number): { readonly copies: number } {
    let copies = 0
    const { catalog } = reference.shards[2]!
    plan = ({ shard, operation }) => {
      if (shard !== 2 || operation !== 'change') return undefined
      if (++copies > 60) throw new Error('The copies do not end.')
      return copies > times
        ? undefined
        : { after: async () => void (await catalog.change(catalogWith(2, 5, 'building'), 9)) }
    }
    return {
      get copies() {
        return copies
      },
    }
  }

  it('a shard that loses its copy gets another one', async () => {
    const seen = loseCopies(2)
    expect(await propagateCatalog(faultyDriver(reference, (call) => plan(call)))).toMatchObject({
      epochs: [9, 9, 9],
      indexes: [{ state: 'ready' }],
    })
    expect(seen.copies).toBe(3)
  })

  it('a shard that loses 50 copies keeps its old catalog, which counts in the merged one', async () => {
    const seen = loseCopies(Infinity)
    expect(await propagateCatalog(faultyDriver(reference, (call) => plan(call)))).toMatchObject({
      epochs: [9, 9, 5],
      indexes: [{ state: 'building' }],
    })
    expect(seen.copies).toBe(50)
  })
})
