import { cleanIndex } from '@looseleaf/cleaner'
import { parseId } from '@looseleaf/core'
import { changeServes, presentNumbers } from '@looseleaf/index-engine/internal'
import { announceTarget, entitiesIn, loadOwn, type MoveWork } from '@looseleaf/protocol/internal'
import type { DataStore, PlannedMove } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { checkWhole, shardFiles, type ShardFiles } from './remade.ts'
import { contentsOf, fill, itemOf, SOME_BUCKETS } from './stores.ts'

/** Returns the entities of a store that are on other shards than these, by id. */
async function keptWithout(store: DataStore, lost: readonly number[]): Promise<ReadonlyMap<string, string>> {
  const { placement } = await store.context.catalog.reload()
  const all = await contentsOf(store)
  return new Map([...all].filter(([id]) => !lost.includes(placement.shardOfId(parseId(id)))))
}

/** Puts an entity into one of these buckets, and returns the number of the shard that has it. */
async function putInto(store: DataStore, buckets: string): Promise<number> {
  const isIn = entitiesIn(store.context, buckets)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  await store.put({ ...itemOf(1_000) }, { id })
  const { shards } = store.context.driver
  const present = presentNumbers(store.context.driver)
  const rows = await Promise.all(present.map((number) => shards[number]!.entities.checksums([parseId(id)])))
  await store.delete(id)
  return present[rows.findIndex(([row]) => row !== undefined)]!
}

/** Makes the store anew after these shards were lost. Returns it with the entities that it had elsewhere. */
async function remade(
  files: ShardFiles,
  first: DataStore,
  lost: readonly number[],
): Promise<{ readonly store: DataStore; readonly kept: ReadonlyMap<string, string> }> {
  const kept = await keptWithout(first, lost)
  await first.close()
  for (const shard of lost) files.lose(shard)
  return { store: await files.open({ acceptEmptyShards: true }), kept }
}

/** Opens a store in a process that dies when it looks for losses. */
async function interrupt(files: ShardFiles): Promise<void> {
  const driver = await files.shards.connect()
  onTestFinished(() => driver.close())
  const dying = faultyDriver(driver, ({ shard, operation, args }) =>
    shard === 1 && operation === 'pageByAdded' && args[1] === 1
      ? { before: () => Promise.reject(new Error('The process dies.')) }
      : undefined,
  )
  await expect(files.open({ acceptEmptyShards: true, shards: keepOpen(dying) })).rejects.toThrow('dies')
}

test('a shard that was made anew does not serve empty buckets that another source still has', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  const isKept = entitiesIn(first.context, '684-1365,2731-4095')
  const kept = new Map([...(await contentsOf(first))].filter(([id]) => isKept(parseId(id))))
  await first.shards.move({ from: 0, to: 1, buckets: '0-683' })
  await moveUntil(first, 'emptying', { from: 2, to: 1, buckets: '2731-3413' })
  await first.close()
  files.lose(1)
  const store = await files.open({ acceptEmptyShards: true })
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  await checkWhole(store, kept)
})

test.each([
  ['one shard', { from: 0, to: 1, buckets: '684-1000' }],
  ['two shards', { from: 2, to: 1, buckets: '2731-3413' }],
] as const)(
  'a shard that was made anew serves the buckets of two moves whose entities are gone: %s',
  async (_, second) => {
    const files = shardFiles(3)
    const first = await files.open()
    await fill(first, 120)
    const moves: readonly PlannedMove[] = [{ from: 0, to: 1, buckets: '0-683' }, second]
    for (const move of moves) await first.shards.move(move)
    const { store, kept } = await remade(files, first, [1])
    expect(await store.shards.repair()).toMatchObject({ problems: [] })
    for (const { buckets } of moves) expect(await putInto(store, buckets)).toBe(1)
    await checkWhole(store, kept)
  },
)

test.each([0, 2])(
  'moves of buckets that went on to shard %i end after the shard between was made anew',
  async (last) => {
    const files = shardFiles(3)
    const first = await files.open()
    await fill(first, 120)
    await first.shards.move({ from: 0, to: 1, buckets: '0-683' })
    await first.shards.move({ from: 1, to: last, buckets: '0-341' })
    const { store, kept } = await remade(files, first, [1])
    expect(await store.shards.repair()).toMatchObject({ problems: [] })
    expect(await putInto(store, '0-341')).toBe(last)
    expect(await putInto(store, '342-683')).toBe(1)
    await checkWhole(store, kept)
  },
)

test('buckets that came from a removed shard are served by the shard that was made anew', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  await first.shards.move({ from: 0, to: 1, buckets: '0-341' })
  await first.shards.move({ from: 1, to: 2, buckets: '0-341' })
  await first.shards.drain(1)
  await first.shards.remove(1)
  const { store, kept } = await remade(files, first, [2])
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  expect(await putInto(store, '0-341')).toBe(2)
  await checkWhole(store, kept)
})

test('moves to a shard that was made anew are over if their buckets came back to it from a removed shard', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  await first.shards.move({ from: 0, to: 1, buckets: '0-341' })
  await first.shards.move({ from: 1, to: 2, buckets: '0-341' })
  await first.shards.move({ from: 2, to: 1, buckets: '0-341' })
  await first.shards.drain(2)
  await first.shards.remove(2)
  const { store, kept } = await remade(files, first, [1])
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  expect(await putInto(store, '0-341')).toBe(1)
  await checkWhole(store, kept)
})

test('buckets that two shards have lost one after the other are served by the last of them', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  await first.shards.move({ from: 0, to: 1, buckets: '0-683' })
  await first.shards.move({ from: 1, to: 2, buckets: '0-341' })
  const { store, kept } = await remade(files, first, [1, 2])
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  expect(await putInto(store, '0-341')).toBe(2)
  expect(await putInto(store, '342-683')).toBe(1)
  await checkWhole(store, kept)
  expect(await store.shards.move({ from: 2, to: 0, buckets: '0-341' })).toMatchObject({ state: 'done' })
})

test('a shard serves buckets again that it has lost once more, also if the shard between has entities by then', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  await first.shards.move({ from: 0, to: 1, buckets: '0-341' })
  await first.shards.move({ from: 1, to: 2, buckets: '0-341' })
  const again = await remade(files, first, [1, 2])
  expect(await again.store.shards.repair()).toMatchObject({ problems: [] })
  expect(await putInto(again.store, '1366-2730')).toBe(1)
  await cleanIndex(again.store)
  const { store, kept } = await remade(files, again.store, [2])
  expect(await store.shards.repair()).toMatchObject({ problems: [] })
  expect(await putInto(store, '0-341')).toBe(2)
  await checkWhole(store, kept)
})

test('a move whose rows are read at its target begins again if both shards were made anew', async () => {
  const files = shardFiles(3)
  const first = await files.open()
  await fill(first, 120)
  // The target gets a record for the buckets of this move.
  await first.shards.move({ from: 2, to: 1, buckets: '2731-3413' })
  await moveUntil(first, 'switching', { from: 0, to: 1, buckets: '0-683' })
  const [move] = first.context.catalog.current().layout!.moves!
  await announceTarget({ context: first.context, move } as MoveWork)
  const { store, kept } = await remade(files, first, [0, 1])
  expect(await store.shards.repair()).toMatchObject({
    problems: [],
    moves: [{ state: 'done' }, { state: 'done' }],
  })
  expect(await putInto(store, '0-683')).toBe(1)
  expect(await putInto(store, '684-1365')).toBe(0)
  await checkWhole(store, kept)
})

test.each(['first group', 'switching', 'target'] as const)(
  'a repair ends a move whose source was made anew at this step: %s',
  async (step) => {
    const files = shardFiles(2)
    const first = await files.open()
    await fill(first, 120)
    const plan = { from: 1, to: 0, buckets: '2048-3071' }
    let groups = 0
    if (step === 'first group') await moveUntil(first, 'sealing', plan, () => ++groups === 2)
    else await moveUntil(first, 'switching', plan)
    if (step === 'target') {
      const [move] = first.context.catalog.current().layout!.moves!
      await announceTarget({ context: first.context, move } as MoveWork)
    }
    // The target has copies of all groups.
    const isKept = entitiesIn(first.context, '0-3071')
    const kept = new Map([...(await contentsOf(first))].filter(([id]) => isKept(parseId(id))))
    const { store } = await remade(files, first, [1])
    expect(await store.shards.repair()).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
    await checkWhole(store, kept)
    expect(await putInto(store, plan.buckets)).toBe(0)
  },
)

test.each(['emptying', 'done'] as const)(
  'a change of a shard between an interrupted opening and the next one keeps no bucket closed: %s',
  async (step) => {
    const files = shardFiles(2)
    const first = await files.open()
    await fill(first, 120)
    const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
    if (step === 'done') await first.shards.move(plan)
    else await moveUntil(first, step, plan)
    const isKept = entitiesIn(first.context, step === 'done' ? '1024-2047' : '0-2047')
    const kept = new Map([...(await contentsOf(first))].filter(([id]) => isKept(parseId(id))))
    await first.close()
    files.lose(1)
    await interrupt(files)
    const other = await files.open()
    const { catalog, serves } = await loadOwn(other.context, 1, {})
    expect(serves.owns).toBe('0-1023,2048-4095')
    await changeServes(other.context.driver.shards[1]!, catalog, serves)
    await other.close()
    const store = await files.open({ acceptEmptyShards: true })
    expect(await store.shards.repair()).toMatchObject({ problems: [] })
    expect(await putInto(store, SOME_BUCKETS)).toBe(1)
    await checkWhole(store, kept)
  },
)

test('a move from a shard that was made anew ends although indexes are ready before the next opening', async () => {
  const files = shardFiles(2)
  const first = await files.open()
  await fill(first, 120)
  await moveUntil(first, 'switching', { from: 1, to: 0, buckets: '2048-3071' })
  const kept = await keptWithout(first, [1])
  await first.close()
  files.lose(1)
  await interrupt(files)
  const other = await files.open()
  await cleanIndex(other)
  await other.close()
  const store = await files.open({ acceptEmptyShards: true })
  expect(await store.shards.repair()).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
  await checkWhole(store, kept)
})
