import { LooseleafError, type Driver } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import {
  changeCatalogContents,
  changeServes,
  keptRowsMs,
  loadShardCatalog,
} from '@looseleaf/index-engine/internal'
import {
  announceMove,
  editWhenFree,
  readRegistry,
  REGISTRY_TASK,
  UNCHECKED_WAIT_MS,
} from '@looseleaf/protocol/internal'
import { faultyDriver, unknownOutcome, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filledStore, lateSleeps, openStore } from './stores.ts'

let driver: Driver
let store: DataStore
let time: LeapingTime

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  await (await filledStore(driver, 40)).close()
  time = leapingTime()
  store = await openStore(driver, lateSleeps(time))
  await store.shards.drain(2)
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

const openWith = (plan: FaultPlan): Promise<DataStore> => openStore(faultyDriver(driver, plan), leapingTime())

test('a removal ends when all processes know it and their queries have ended', async () => {
  const began = time.now()
  await store.shards.remove(2)
  expect(time.now() - began).toBe(2 * UNCHECKED_WAIT_MS + keptRowsMs(store.context.catalog.current()))
  // A repeated removal waits again, because the first call may have stopped before.
  const again = time.now()
  await store.shards.remove(2)
  expect(time.now() - again).toBe(2 * UNCHECKED_WAIT_MS + keptRowsMs(store.context.catalog.current()))
})

test('a dry run of a removal changes nothing and does not wait', async () => {
  const began = time.now()
  const { epochs } = await store.context.catalog.reload()
  await store.shards.remove(2, { dryRun: true })
  expect((await store.context.catalog.reload()).epochs).toEqual(epochs)
  expect(time.now()).toBe(began)
  await store.shards.remove(2)
  await store.shards.remove(2, { dryRun: true })
})

test('a removed shard keeps its name and the record of the buckets that it gave up, in every catalog', async () => {
  const { away } = (await loadShardCatalog(driver.shards[2]!))!.serves!
  expect(away!.length).toBeGreaterThan(0)
  await store.shards.remove(2)
  for (const shard of driver.shards)
    expect((await loadShardCatalog(shard))!.layout!.shards[2]).toEqual({
      name: 'memory 2',
      buckets: '',
      state: 'removed',
      away,
    })
})

test('a shard that has never had a bucket is removed', async () => {
  const shard = driver.shards[2]!
  await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '' })
  await store.shards.remove(2)
  expect((await loadShardCatalog(driver.shards[0]!))!.layout!.shards[2]).toMatchObject({ away: [] })
})

test('the codec entries of a removed shard are on all others', async () => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, definitions: true }))
  const flushed: number[] = []
  const added: number[] = []
  const watching = await openStore(
    faultyDriver(driver, ({ shard, table, operation }) => {
      if (table === 'codecEntries' && operation === 'add') added.push(shard)
      if (operation === 'flush' && added.includes(shard)) flushed.push(shard)
      return undefined
    }),
    leapingTime(),
  )
  await watching.shards.remove(2)
  expect(new Set(added)).toEqual(new Set([0, 1]))
  for (const shard of added) expect(flushed).toContain(shard)
})

test('a shard stays while another one cannot take its codec entries', async () => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, definitions: true }))
  const full = new LooseleafError('SHARD_FULL', 'The disk is full.', { shard: 'memory 1' })
  let failing: string | undefined
  let isAdding = false
  const removing = await openWith(({ shard, table, operation }): Fault | undefined => {
    if (shard !== 1) return undefined
    isAdding ||= table === 'codecEntries' && operation === 'add'
    if (!isAdding || operation !== failing) return undefined
    failing = undefined
    return {
      // The other shard is done before.
      async before() {
        await new Promise((resolve) => setImmediate(resolve))
        throw full
      },
    }
  })
  for (const operation of ['add', 'flush']) {
    failing = operation
    isAdding = false
    await expect(removing.shards.remove(2)).rejects.toEqual(full)
    expect((await removing.shards.list())[2]).toMatchObject({ state: 'draining' })
  }
})

test('a removal is refused if a move to the shard was announced after its first look', async () => {
  let isAnnounced = false
  const removing = await openWith(({ shard, operation, args: [task] }): Fault | undefined => {
    if (shard !== 2 || operation !== 'claim' || task !== REGISTRY_TASK || isAnnounced) return undefined
    isAnnounced = true
    return {
      async before() {
        await store.shards.stopDraining(2)
        await announceMove(store.context, { from: 0, to: 2, buckets: '0-9' })
      },
    }
  })
  await expect(removing.shards.remove(2)).rejects.toMatchObject({
    code: 'CONFLICT',
    retryable: false,
    message: expect.stringMatching(/nothing was changed: move \d+ is not over\.$/),
  })
  expect((await removing.shards.list())[2]).toMatchObject({ state: 'serving' })
})

const removes = (operation: string, [catalog]: readonly unknown[]): boolean =>
  operation === 'change' && (catalog as ShardCatalog).layout!.shards[2]!.state === 'removed'

test('a repeated removal ends one whose process died when the leading shard alone had it', async () => {
  const [leading, second] = driver.shards
  const { layout, epoch, ...catalog } = (await loadShardCatalog(leading!))!
  const removed = { name: 'memory 2', buckets: '', state: 'removed' as const, away: [] }
  const next = { ...layout!, revision: layout!.revision + 1, shards: layout!.shards.with(2, removed) }
  await leading!.catalog.change(
    { ...catalog, epoch: epoch + 1, contentsEpoch: undefined, layout: next },
    epoch,
  )
  await store.shards.remove(2)
  expect((await loadShardCatalog(second!))!.layout!.shards[2]).toEqual(removed)
})

test('a removal needs no answer of the removed shard once the others know of it', async () => {
  const { revision } = (await loadShardCatalog(driver.shards[2]!))!.layout!
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.', { shard: 'memory 2' })
  const removing = await openWith(({ shard, operation, args }) =>
    shard === 2 && removes(operation, args) ? { before: () => Promise.reject(down) } : undefined,
  )
  await removing.shards.remove(2)
  expect(removing.context.catalog.current().layout!.shards[2]!.state).toBe('removed')
  const revisions = await Promise.all(
    driver.shards.map(async (shard) => (await loadShardCatalog(shard))!.layout!.revision),
  )
  expect(revisions).toEqual([revision + 1, revision + 1, revision])
})

test('a removal changes nothing more if another process has removed the shard after its first look', async () => {
  let before: readonly number[] | undefined
  const { tasks } = driver.shards[0]!
  const removing = await openWith(({ shard, operation, args: [task] }): Fault | undefined => {
    if (shard !== 2 || operation !== 'claim' || task !== REGISTRY_TASK || before !== undefined)
      return undefined
    return {
      async before() {
        // The lease of this process has ended while it slept.
        const { owner, progress } = (await tasks.load('catalog'))!
        await tasks.save('catalog', owner!, progress, 0)
        await store.shards.remove(2)
        before = (await store.context.catalog.reload()).epochs
      },
    }
  })
  await removing.shards.remove(2)
  expect((await store.context.catalog.reload()).epochs).toEqual(before)
})

test('a removal rejects with an error of the removed shard that is no outage', async () => {
  const denied = new LooseleafError('SHARD_DENIED', 'The server denies it.', { shard: 'memory 2' })
  const removing = await openWith(({ shard, operation, args }) =>
    shard === 2 && removes(operation, args) ? { before: () => Promise.reject(denied) } : undefined,
  )
  await expect(removing.shards.remove(2)).rejects.toEqual(denied)
})

test('a removal waits until another process has changed the consumers', async () => {
  const { tasks } = driver.shards[2]!
  await tasks.claim(REGISTRY_TASK, 'other', 60_000)
  let claims = 0
  const busy = faultyDriver(driver, ({ shard, operation, args }) => {
    if (shard !== 2 || operation !== 'claim' || args[0] !== REGISTRY_TASK) return undefined
    claims++
    return { after: async () => void (await tasks.save(REGISTRY_TASK, 'other', '', 0)) }
  })
  await (await openStore(busy, leapingTime())).shards.remove(2)
  expect(claims).toBe(2)
})

test.each([false, true])(
  'a consumer that is dropped after the lease on its registration has ended does not come back by a removal (answer to the renewal lost: %s)',
  async (isAnswerLost) => {
    let isLost = isAnswerLost
    const later = 1_000 * time.now() + 1e9
    const places = [later, later, later]
    const registration = { incarnation: 'a', at: 1, begun: places, floors: places }
    const edit = (number: number, text: string): Promise<void> =>
      editWhenFree(store.context, number, REGISTRY_TASK, () => text, {})
    const kept = { ...registration, incarnation: 'b' }
    for (const number of [0, 1, 2])
      await edit(number, JSON.stringify({ dropped: registration, ...(number === 2 && { kept }) }))
    let isDropped = false
    const removing = await openWith(({ shard, operation, args: [task, , , forMs] }): Fault | undefined => {
      if (isLost && shard === 2 && operation === 'save' && task === REGISTRY_TASK && forMs !== 0) {
        isLost = false
        return { after: () => Promise.reject(unknownOutcome()) }
      }
      if (shard !== 0 || operation !== 'claim' || task !== REGISTRY_TASK || isDropped) return undefined
      isDropped = true
      return {
        async before() {
          const { tasks } = driver.shards[2]!
          const { owner, progress } = (await tasks.load(REGISTRY_TASK))!
          await tasks.save(REGISTRY_TASK, owner!, progress, 0)
          await edit(2, JSON.stringify({ kept }))
          for (const number of [0, 1]) await edit(number, '')
        },
      }
    })
    await removing.shards.remove(2)
    expect(isDropped).toBe(true)
    for (const number of [0, 1])
      expect([...(await readRegistry(store.context, number, {})).keys()]).toEqual(['kept'])
  },
)

test('no shard of a router without buckets is removed', async () => {
  const router = moduloRouter({ shards: 2 })
  const fixed = await DataStore.open({ shards: memoryShards(2), router, migrate: true })
  await expect(fixed.shards.remove(1)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'The router of this store has no buckets, so its layout is fixed, and no shard can be removed.',
  })
  await fixed.close()
})
