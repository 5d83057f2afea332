import { movedEntities } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'
import type { DerivedEntity } from './derive-entity.ts'
import type { MissingRow } from './inspect.ts'

export interface StillMissing {
  /** Missing rows of entities that still have the version that was read. */
  readonly missing: readonly MissingRow[]
  /** Entities that were written since they were read. A caller has to look at them again. */
  readonly moved: readonly DerivedEntity[]
}

/**
 * Reads the versions of entities with missing rows again, because a row that `inspect` missed may have been there:
 * 1. The cleaner reads version 1 of an entity, which has a row.
 * 2. A writer commits version 2, which has no row in this index, and deletes the row at once: an entity without rows moves nowhere.
 * 3. `inspect` reads the rows, and misses the row of version 1.
 */
export async function stillMissing(pass: Pass, missing: readonly MissingRow[]): Promise<StillMissing> {
  if (missing.length === 0) return { missing, moved: [] }
  const moved = await movedEntities(pass.context, entitiesOf(missing), pass)
  const movedSet = new Set(moved)
  return { missing: missing.filter(({ entity }) => !movedSet.has(entity)), moved }
}

/** Returns the entities of these rows, each once. */
export function entitiesOf(missing: readonly MissingRow[]): readonly DerivedEntity[] {
  return [...new Set(missing.map(({ entity }) => entity))]
}
