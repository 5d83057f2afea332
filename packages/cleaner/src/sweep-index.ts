import type { IndexRow } from '@looseleaf/core'
import { chunks } from './chunks.ts'
import { deriveEntity, type DerivedEntity } from './derive-entity.ts'
import { idKey } from './id-key.ts'
import type { IndexTarget } from './index-target.ts'
import { placeOf, type DanglingRow } from './inspect.ts'
import { lookAgain } from './look-again.ts'
import type { Pass } from './pass.ts'
import { readEntities } from './read-entities.ts'
import { reconcile } from './reconcile.ts'
import { removeRows } from './remove-rows.ts'

/** Entities whose bodies are in memory at once; a body has up to some megabytes. */
const ENTITIES_AT_ONCE = 100

/**
 * One page of a pass over an index table of a shard: deletes the rows that do not match a committed entity. Entities are
 * neither counted nor reported here; that is for the pass over the entities.
 */
export async function sweepIndexPage(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  rows: readonly IndexRow[],
): Promise<void> {
  pass.tally.rows += rows.length
  for (const chunk of chunks(rows, ENTITIES_AT_ONCE)) {
    await lookAgain(pass, async (scratch) => {
      const readAt = scratch.time.now()
      const found = await danglingAmong(scratch, target, shard, chunk)
      const misplaced = found.filter((row) => row.misplaced)
      const dangling = found.filter((row) => !row.misplaced)
      pass.tally.misplaced += misplaced.length
      const { moved } = await removeRows(scratch, dangling, readAt)
      // A misplaced row stands for one that is missing where it belongs, which is added before this one goes.
      const again = new Map([...moved, ...misplaced].map(({ row }) => [idKey(row.entityId), row.entityId]))
      await reconcile(scratch, [target], [...again.values()])
    })
  }
}

/**
 * The rows that are not those of a committed entity, or stand on the wrong shard. The rows have been read before the
 * entities, so that a writer that was about to commit is not taken for a dead one.
 */
export async function danglingAmong(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  rows: readonly IndexRow[],
): Promise<DanglingRow[]> {
  const found = await readEntities(
    pass,
    rows.map(({ entityId }) => entityId),
  )
  const entities = new Map<string, DerivedEntity>()
  const dangling: DanglingRow[] = []
  for (const row of rows) {
    const key = idKey(row.entityId)
    const entity = entities.get(key) ?? deriveEntity(pass, [target], row.entityId, found.get(key))
    entities.set(key, entity)
    // Nobody knows which rows belong to a body that cannot be decoded.
    if (entity.expected === undefined) continue
    const place = placeOf(entity, target, shard, row)
    if (place !== 'right') dangling.push({ entity, target, shard, row, misplaced: place === 'misplaced' })
  }
  return dangling
}
