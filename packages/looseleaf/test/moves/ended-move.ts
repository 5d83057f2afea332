import { parseId, type EntityId } from '@looseleaf/core'
import type { LayoutMove } from '@looseleaf/core/internal'
import { loadShardCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import {
  announceTarget,
  beginTarget,
  endMove,
  entitiesIn,
  handOver,
  seal,
} from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { onTestFinished } from 'vitest'
import { BUCKETS, OWNED, type AnnouncedMove } from './announced-move.ts'
import { indexes, itemOf } from './stores.ts'

/** Puts entities of the move's buckets, and of others, and deletes one. Returns the number of rows of each kind in the buckets. */
export async function fillBuckets(
  moving: AnnouncedMove,
  count: number,
): Promise<{ readonly entities: number; readonly rows: number }> {
  const store = await DataStore.open({ shards: keepOpen(moving.driver), indexes, time: leapingTime() })
  onTestFinished(() => store.close())
  const isIn = entitiesIn(store.context, BUCKETS)
  const ids: EntityId[] = []
  while (ids.length < count) {
    const id = store.newId()
    if (isIn(parseId(id))) ids.push(id)
  }
  await store.putMany(ids.map((id, n) => ({ ...itemOf(n), id })))
  await store.delete(ids[0]!)
  await store.settled()
  return { entities: count, rows: await rowsIn(moving, 0) }
}

/** Counts the index rows and claims of a shard that belong to the entities. */
export async function rowsIn({ driver, work }: AnnouncedMove, shard: number): Promise<number> {
  const { indexes: entries } = work.context.catalog.current()
  const counts = await Promise.all(
    entries.map((entry) =>
      driver.shards[shard]!.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 10_000 }),
    ),
  )
  return counts.flat().length
}

/** Counts the entities of the move's buckets on a shard. */
export async function entitiesOn({ driver, work }: AnnouncedMove, shard: number): Promise<number> {
  const isIn = entitiesIn(work.context, BUCKETS)
  const page = await driver.shards[shard]!.entities.pageByAdded(0, 10_000)
  return page.filter(({ id }) => isIn(id)).length
}

/** Lets a shard go back to the announcement of the move in this phase, while the other shards have its end. */
export async function loseEnd(
  { driver, work: { move } }: AnnouncedMove,
  number: number,
  phase: LayoutMove['phase'],
): Promise<void> {
  const shard = driver.shards[number]!
  const { epoch, contentsEpoch = epoch, layout, ...catalog } = (await loadShardCatalog(shard))!
  const shards = layout!.shards.map((each, n) => ({ ...each, buckets: OWNED[n] }))
  const before = { ...layout!, revision: move.id, shards, moves: [{ ...move, phase }] }
  await shard.catalog.change(
    { ...catalog, layout: before, epoch: epoch + 1, contentsEpoch: contentsEpoch - 1 },
    epoch,
  )
}

/** Hands both halves of the buckets over and ends the move, without copies. Returns the number of the last attempt. */
export async function endWithout(moving: AnnouncedMove): Promise<number> {
  const { work } = moving
  let last = 0
  for (const [group, end] of [
    ['0-3', 9],
    ['4-9', 7],
  ] as const) {
    const attempt = await moving.begin()
    last = attempt.attempt
    const sealed = await seal(work, { ...attempt, buckets: BUCKETS }, group)
    await handOver(work, attempt, group, sealed, { end, last: undefined })
    await beginTarget(work.context, 1)
  }
  await announceTarget(work)
  await endMove(work)
  return last
}
