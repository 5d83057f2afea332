import { idKey, isLooseleafError, requireVersion, type EntityRow, type Key } from '@looseleaf/core'
import { deriveEntryRows, keyIdentity, type EngineContext } from '@looseleaf/index-engine'
import { placed } from '../look/derive-entity.ts'
import { eachEntity } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'

/** A row that an entity has lost, and where it stands: not on the shard that it belongs on, perhaps. */
interface LostRow {
  readonly target: IndexTarget
  readonly shard: number
  readonly row: { readonly key: Key; readonly entityId: Uint8Array }
}

/**
 * Those of these rows that their entities have again, or may have: of a body that cannot be read nothing is known. With the
 * versions of the entities, for the rows to be written again. A writer
 * that writes rows after its entity may have committed since and not come to its rows; whoever looked after it has found
 * the old one there, with its old stamp.
 */
export async function neededAgain<Row extends LostRow>(
  context: EngineContext,
  rows: readonly Row[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<Row, number>> {
  const needed = new Map<Row, number>()
  const byEntity = Map.groupBy(rows, ({ row }) => idKey(row.entityId))
  const ids = Array.from(byEntity.values(), ([first]) => (first as Row).row.entityId)
  await eachEntity({ context, signal }, ids, (entity) => {
    for (const lost of byEntity.get(idKey(entity.id)) ?? []) {
      if (has(context, entity, lost)) needed.set(lost, entity.version)
    }
  })
  return needed
}

function has(
  context: EngineContext,
  { id, version, body }: EntityRow,
  { target, shard, row }: LostRow,
): boolean {
  if (body === null) return false
  try {
    requireVersion(version)
    const { keys } = deriveEntryRows(target.entry, context.codec.decode(body))
    const lost = keyIdentity(row.key)
    return placed(context, target, id, keys).some((each) => each.identity === lost && each.shard === shard)
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    return true
  }
}
