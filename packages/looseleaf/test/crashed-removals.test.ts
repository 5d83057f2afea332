import { unionOfRanges } from '@looseleaf/core/internal'
import { changeCatalogContents, propagateCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { crashingShards, type CrashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { expect, test } from 'vitest'
import { DataStore, type Driver } from '../src/index.ts'

let plan: FaultPlan | undefined

const openShards = (): CrashingShards =>
  crashingShards(3, (driver) => faultyDriver(driver, (call) => plan?.(call)))

/** Opens a store whose leading shard has no buckets any more. */
async function openDrained(shards: CrashingShards): Promise<DataStore> {
  plan = undefined
  const store = await DataStore.open({ shards: shards.factory, migrate: true })
  await changeCatalogContents(store.context.driver, (contents) => {
    const layout = contents.layout!
    const [first, second, third] = layout.shards.map(({ buckets }) => buckets!)
    const buckets = ['', unionOfRanges(first!, second!), third]
    const members = layout.shards.map((shard, number) => ({ ...shard, buckets: buckets[number] }))
    return { ...contents, layout: { ...layout, revision: layout.revision + 1, shards: members, moves: [] } }
  })
  return store
}

/** Changes the catalog of shard 0 alone, as a process that removes the shard and then dies. */
async function removeOnLeading({ shards: [leading] }: Driver): Promise<void> {
  const catalog = (await leading!.catalog.load())!
  const { layout, epoch } = catalog
  const [first, ...others] = layout!.shards
  const removed = { name: first!.name, buckets: '', state: 'removed' as const, away: [] }
  const next = { ...layout!, revision: layout!.revision + 1, shards: [removed, ...others] }
  await leading!.catalog.change(
    { ...catalog, epoch: epoch + 1, contentsEpoch: undefined, layout: next },
    epoch,
  )
}

const changeTombstones = (store: DataStore): Promise<unknown> =>
  changeCatalogContents(store.context.driver, (contents) => ({ ...contents, keepTombstonesMs: 3_600_001 }), {
    holds: ({ keepTombstonesMs }) => keepTombstonesMs === 3_600_001,
  })

test('a removal that a crash undoes on the next leading shard is not relied on', async () => {
  const shards = openShards()
  const store = await openDrained(shards)
  const other = await DataStore.open({ shards: shards.factory })
  await removeOnLeading(shards.reference)
  shards.hang(1)
  shards.hang(2)
  // Another process has copied the removal, and it is not on disk.
  for (const { catalog } of shards.reference.shards.slice(1)) {
    const { layout, epoch: contentsEpoch } = (await shards.reference.shards[0]!.catalog.load())!
    const current = (await catalog.load())!
    await catalog.change({ ...current, epoch: contentsEpoch, layout }, current.epoch)
  }
  const crash = (): void => [1, 2].forEach((number) => shards.crash(number))
  plan = ({ shard, operation }) => (shard !== 0 && operation === 'flush' ? { before: crash } : undefined)
  await store.context.catalog.reload()
  plan = undefined
  crash()
  await changeTombstones(store)
  const { layout, keepTombstonesMs } = (await shards.reference.shards[1]!.catalog.load())!
  expect([layout!.shards[0]!.state, keepTombstonesMs]).toEqual(['removed', 3_600_001])
  await Promise.all([store.close(), other.close()])
})

test('a removal is taken over from the leading shard only when it is on the disk there', async () => {
  const shards = openShards()
  const store = await openDrained(shards)
  const other = await DataStore.open({ shards: shards.factory })
  shards.hang(0)
  await removeOnLeading(shards.reference)
  const taken = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let changing: Promise<unknown> | undefined
  plan = ({ shard, operation }) => {
    if (operation !== 'change') return undefined
    // The other process has read the catalogs, and changes the leading one when the removal was taken over.
    if (changing !== undefined)
      return shard === 0 ? { before: () => (reached.resolve(), taken.promise) } : undefined
    return {
      async before() {
        shards.crash(0)
        changing = changeTombstones(other)
        await Promise.race([reached.promise, changing])
      },
    }
  }
  await propagateCatalog(store.context.driver)
  const isRemoved = async (): Promise<boolean> =>
    (await shards.reference.shards[1]!.catalog.load())!.layout!.shards[0]!.state === 'removed'
  const before = await isRemoved()
  taken.resolve()
  await changing
  expect([before, await isRemoved()]).toEqual([true, true])
  await Promise.all([store.close(), other.close()])
})
