import { shardsOfRow } from '@looseleaf/index-engine/internal'
import { catalogAfter } from '@looseleaf/protocol/internal'
import { entitiesOf } from '../look/still-missing.ts'
import { expectedIn, type DerivedEntity } from '../look/derive-entity.ts'
import type { MissingRow } from '../look/inspect.ts'
import type { Pass } from '../pass/pass.ts'

/**
 * Looks at the catalog after rows were added, and returns the entities whose rows belong on other shards by now. A caller has to look
 * at them again. Without this, a row could go missing:
 * 1. A cleaner derives the rows of an entity.
 * 2. A move is announced, and its mover copies the rows of the old shard.
 * 3. The cleaner adds a row to the old shard alone, behind the mover.
 * 4. Queries read the new shard.
 *
 * A move is announced on all shards before it copies, so the shard of one added row tells of it.
 */
export async function replacedRows(
  { context, signal }: Pass,
  added: readonly MissingRow[],
): Promise<readonly DerivedEntity[]> {
  const [first] = added
  if (first === undefined) return []
  const known = context.catalog.current()
  const { layout, placement } = await catalogAfter(context, first.row.shard, known, { signal })
  if (layout?.moves === undefined) return []
  const targets = [...new Set(added.map(({ target }) => target))]
  return entitiesOf(added).filter((entity) =>
    targets.some((target) => {
      const rows = expectedIn(entity, target)
      return rows.some(({ key }) =>
        shardsOfRow(target.entry, placement, key, entity.id).some(
          (shard) => !rows.some((row) => row.key === key && row.shard === shard),
        ),
      )
    }),
  )
}
