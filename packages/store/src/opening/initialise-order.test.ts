import type { ShardCatalog } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketRouter } from '@looseleaf/router'
import { faultyDriver } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, expect, it } from 'vitest'
import { initialise } from './initialise.ts'
import { openStore } from './open-store.ts'

// The order of statements when a store is made or opened, with slow shards.

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const router = bucketRouter({ shards: 3 })

let reference: ReferenceDriver
/** `operation` when a call begins, `operation ended` when it has ended. */
let log: string[]

beforeEach(() => {
  reference = createReferenceDriver({ shards: 3 })
  log = []
})

/** Makes a driver whose later shards are slower. */
const slow = () =>
  faultyDriver(reference, ({ shard, operation }) => {
    log.push(operation)
    return {
      async before() {
        for (let turn = 0; turn <= 3 * shard; turn++) await new Promise((resolve) => setImmediate(resolve))
      },
      after: () => void log.push(`${operation} ended`),
    }
  })

const init = (): Promise<void> =>
  initialise(slow(), router, [byLink], { policies: {}, queryTimeMs: undefined, acceptEmptyShards: false })

const stored = (): (ShardCatalog | undefined)[] => reference.shards.map((shard) => shard.contents())

it('a new store creates every table before the first catalog, and that before the others', async () => {
  await init()
  expect(log.indexOf('createIndexTable')).toBeGreaterThan(log.lastIndexOf('createTables ended'))
  expect(log.indexOf('init')).toBeGreaterThan(log.lastIndexOf('createIndexTable ended'))
  expect(log.filter((operation) => operation.startsWith('init'))).toEqual(
    Array.from({ length: 3 }, () => ['init', 'init ended']).flat(),
  )
  expect(new Set(stored().map((catalog) => catalog?.storeId)).size).toBe(1)
})

it('open creates no index table again in an existing store', async () => {
  await init()
  log = []
  await init()
  expect(log).toContain('createTables')
  expect(log).not.toContain('createIndexTable')
})

it('a shard without a catalog gets that of the first shard, although a shard between them is older', async () => {
  await init()
  const [first, second] = stored()
  reference = createReferenceDriver({ shards: 3 })
  await reference.shards[0]!.catalog.init({ ...first!, epoch: 9 })
  await reference.shards[1]!.catalog.init({ ...second!, epoch: 5 })
  await init()
  expect(stored().map((catalog) => catalog?.epoch)).toEqual([9, 5, 9])
})

it('open without `migrate` only reads the catalogs if they agree', async () => {
  await init()
  log = []
  await openStore(slow(), {
    router,
    migrate: false,
    indexes: [],
    policies: {},
    queryTimeMs: undefined,
    acceptEmptyShards: false,
    onWarning: () => undefined,
    detached: (work) => work(),
  })
  expect(new Set(log)).toEqual(new Set(['load', 'load ended']))
})
