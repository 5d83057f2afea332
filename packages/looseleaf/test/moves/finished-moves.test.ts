import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test, vi } from 'vitest'
import { filledStore, openStore } from './stores.ts'
import { moveUntil } from './consumers/moving.ts'

test('a list with finished moves has those that are done or undone, with their times and counts, beside the open ones', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 40)
  const began = Date.now()
  const done = await store.shards.move({ from: 0, to: 1, buckets: '0-99' })
  await moveUntil(store, 'checking', { from: 0, to: 1, buckets: '100-199' })
  const [stopped] = await store.shards.moves()
  const undone = await store.shards.undo(stopped!.id)
  await moveUntil(store, 'checking', { from: 1, to: 0, buckets: '3000-3099' })

  const open = await store.shards.moves()
  expect(open).toMatchObject([{ state: 'checking', endedAt: undefined, from: 1, buckets: '3000-3099' }])
  expect(await movesOf(store)).toEqual(open)
  const all = await store.shards.moves({ finished: true })
  expect(all).toEqual([done, undone, ...open])
  expect(all).toMatchObject([
    {
      state: 'done',
      from: 0,
      to: 1,
      buckets: '0-99',
      handedOver: 100,
      counts: { entities: done.counts.entities },
      verified: { stale: false },
      commands: {
        forward: undefined,
        back: 'looseleaf shard move --from 1 --to 0 --buckets 0-99',
        isBackLater: false,
      },
    },
    {
      state: 'undone',
      buckets: '100-199',
      handedOver: 0,
      commands: { forward: undefined, back: undefined, isBackLater: false },
    },
    { commands: { forward: 'looseleaf shard repair', back: `looseleaf shard undo ${open[0]!.id}` } },
  ])
  for (const { endedAt } of [done, undone]) expect(endedAt!.getTime()).toBeGreaterThanOrEqual(began)
  expect(await openStore(driver).then((other) => other.shards.moves({ finished: true }))).toEqual(all)
})

test('a list with finished moves has a move once that is done, and whose source has lost the record of its deletes', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 20)
  const { id } = await store.shards.move({ from: 0, to: 1, buckets: '0-99' })
  const [source] = driver.shards
  const catalog = (await loadShardCatalog(source!))!
  // A failover loses the last change of the record.
  const away = catalog.serves!.away!.map((record) => ({ ...record, emptied: undefined }))
  await changeServes(source!, catalog, { ...catalog.serves!, away })
  expect(await movesOf(store)).toMatchObject([{ id }])
  expect(await movesOf(store, { finished: true })).toMatchObject([{ id }])
  await driver.close()
})

test('a list has the last ten finished moves, and a store that never moved a bucket has none', async () => {
  const store = await filledStore(await memoryShards(2).connect(), 0)
  expect(await store.shards.moves({ finished: true })).toEqual([])
  const ids: number[] = []
  for (let n = 0; n < 6; n++)
    for (const from of [0, 1])
      ids.push((await store.shards.move({ from, to: 1 - from, buckets: `${2_048 * from + n}` })).id)
  await moveUntil(store, 'checking', { from: 0, to: 1, buckets: '100' })
  const listed = await store.shards.moves({ finished: true })
  expect(listed.map(({ id }) => id).slice(0, -1)).toEqual(ids.slice(-10))
  expect(listed.at(-1)).toMatchObject({ state: 'checking', buckets: '100' })
})

test('the writes of all processes that waited for buckets of a move are counted, with the longest wait', async () => {
  const memory = await memoryShards(2).connect()
  const looks = [0, 0]
  const counted = (writer: number): Promise<DataStore> =>
    openStore(
      faultyDriver(memory, ({ shard, table, operation }) => {
        if (shard === 0 && table === 'catalog' && operation === 'load') looks[writer]!++
        return undefined
      }),
    )
  const writers = [await counted(0), await counted(1)]
  const isIn = entitiesIn(writers[0]!.context, '0-1023')
  const idIn = (store: DataStore): EntityId => {
    let id = store.newId()
    while (!isIn(parseId(id))) id = store.newId()
    return id
  }
  let writes: Promise<unknown>[] = []
  const waiting = vi.fn<(result: unknown) => void>()
  // Holds the seal until the writes of both processes look at the catalog of the shard again and again, and a little longer.
  const watched = faultyDriver(memory, ({ operation, args }) => {
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (serves?.leaving?.some(({ sealed }) => sealed !== undefined) !== true || writes.length > 0)
      return undefined
    return {
      async after() {
        writes = writers.flatMap((store) => [
          store.put({ n: 1 }, { id: idIn(store) }),
          store.put({ n: 2 }, { id: idIn(store) }),
        ])
        writes.forEach((write) => void write.then(waiting))
        const before = [...looks]
        const isWaiting = (): boolean => looks.every((count, writer) => count >= before[writer]! + 10)
        while (!isWaiting()) await new Promise((resolve) => setTimeout(resolve, 5))
        await new Promise((resolve) => setTimeout(resolve, 60))
        expect(waiting).not.toHaveBeenCalled()
      },
    }
  })
  const mover = await openStore(watched, leapingTime())
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 1 })
  await Promise.all(writes)
  const waits = async (): Promise<unknown> => (await mover.shards.moves({ finished: true }))[0]!.waits
  await vi.waitFor(async () => expect(await waits()).toMatchObject({ calls: 4 }), {
    timeout: 10_000,
    interval: 50,
  })
  const { longestMs } = (await waits()) as { longestMs: number }
  expect(longestMs).toBeGreaterThanOrEqual(50)
  expect(longestMs).toBeLessThan(5_000)
})
