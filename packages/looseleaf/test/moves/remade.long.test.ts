import { parseId } from '@looseleaf/core'
import { bucketsIn, formatRanges } from '@looseleaf/core/internal'
import { presentNumbers } from '@looseleaf/index-engine/internal'
import { announceTarget, type MoveWork } from '@looseleaf/protocol/internal'
import type { DataStore, PlannedMove } from '@looseleaf/store'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { expect, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { checkWhole, shardFiles } from './remade.ts'
import { contentsOf, fill, itemOf } from './stores.ts'

/** Chooses a move of buckets that no other move has. */
async function someMove(store: DataStore, random: Random): Promise<PlannedMove | undefined> {
  const { layout } = await store.context.catalog.reload()
  const { shards, moves = [] } = layout!
  const moving = new Set(moves.flatMap(({ buckets }) => bucketsIn(buckets)))
  const present = presentNumbers(store.context.driver)
  const from = random.pick(present)
  const to = random.pick(present.filter((number) => number !== from))
  const free = bucketsIn(shards[from]?.buckets ?? '').filter((bucket) => !moving.has(bucket))
  if (free.length === 0) return undefined
  const start = random.below(free.length)
  const some = free.slice(start, start + 2 + random.below(700))
  return { from, to, buckets: formatRanges(some.map((bucket) => [bucket, bucket])) }
}

/** Begins a move, and leaves it at some step. */
async function leaveMove(store: DataStore, plan: PlannedMove, random: Random): Promise<void> {
  const step = random.pick(['copying', 'sealing', 'switching', 'target', 'emptying'] as const)
  let reports = 0
  if (step === 'sealing') await moveUntil(store, step, plan, () => ++reports === 2)
  else await moveUntil(store, step === 'target' ? 'switching' : step, plan)
  if (step !== 'target') return
  const { layout } = await store.context.catalog.reload()
  const move = layout!.moves!.find(({ buckets }) => buckets === plan.buckets)
  await announceTarget({ context: store.context, move } as MoveWork)
}

/** Moves buckets about, may remove a shard, and leaves up to two moves at some step. */
async function changeLayout(store: DataStore, random: Random): Promise<void> {
  for (let moves = random.below(4); moves > 0; moves--) {
    const plan = await someMove(store, random)
    if (plan !== undefined) await store.shards.move(plan)
  }
  const present = presentNumbers(store.context.driver)
  if (present.length > 2 && random.chance(0.25)) {
    const gone = random.pick(present)
    await store.shards.drain(gone)
    await store.shards.remove(gone)
  }
  // A move back is refused until the rows of the first one are deleted.
  const left = new Set<number>()
  for (let moves = random.below(3); moves > 0; moves--) {
    const plan = await someMove(store, random)
    if (plan === undefined || bucketsIn(plan.buckets).some((bucket) => left.has(bucket))) continue
    for (const bucket of bucketsIn(plan.buckets)) left.add(bucket)
    await leaveMove(store, plan, random)
  }
}

/** Checks that buckets of all shards take writes. */
async function checkWrites(store: DataStore, first: number): Promise<void> {
  for (let number = first; number < first + 40; number++) {
    const { id } = await store.put({ ...itemOf(number) })
    expect(await store.get(id)).toMatchObject(itemOf(number))
  }
}

test.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
  'a repair ends all moves after some shards were made anew, whatever moved before, with the entities of the other shards: %i',
  { timeout: 60_000 },
  async (seed) => {
    const random = createRandom(seed)
    const files = shardFiles(random.pick([2, 3, 4]))
    let store = await files.open()
    await fill(store, 80)
    for (let losses = 1; losses <= 3; losses++) {
      await changeLayout(store, random)
      const present = presentNumbers(store.context.driver)
      const lost = new Set([random.pick(present)])
      if (present.length > 2 && random.chance(0.4)) lost.add(random.pick(present))
      const { placement } = await store.context.catalog.reload()
      const isKept = ([id]: readonly [string, string]): boolean => !lost.has(placement.shardOfId(parseId(id)))
      const kept = [...(await contentsOf(store))].filter(isKept)
      await store.close()
      for (const shard of lost) files.lose(shard)
      store = await files.open({ acceptEmptyShards: true })
      expect(await store.shards.repair()).toMatchObject({ problems: [] })
      const contents = await contentsOf(store)
      expect(kept.filter(([id, text]) => contents.get(id) !== text)).toEqual([])
      await checkWrites(store, 1_000 * losses)
      await checkWhole(store, await contentsOf(store))
    }
  },
)
