import { idKey, isLooseleafError, requireVersion, type EntityRow, type Key } from '@looseleaf/core'
import { deriveEntryRows, includedBytes, keyIdentity, type EngineContext } from '@looseleaf/index-engine'
import { placed } from '../look/derive-entity.ts'
import { eachEntity } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'

/** A row that an entity has lost, and where it stands: not on the shard that it belongs on, perhaps. */
interface LostRow {
  readonly target: IndexTarget
  readonly shard: number
  readonly row: { readonly key: Key; readonly entityId: Uint8Array }
}

/** What such a row holds where it is written again. */
export interface NeededRow {
  /** Of its entity. */
  readonly version: number
  /** Where the index is covering. */
  readonly included?: Uint8Array | null | undefined
}

/**
 * Those of these rows that their entities have again, or may have: of a body that cannot be read nothing is known. A writer
 * that writes rows after its entity may have committed since and not come to its rows; whoever looked after it has found
 * the old one there, with its old stamp.
 */
export async function neededAgain<Row extends LostRow>(
  context: EngineContext,
  rows: readonly Row[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<Row, NeededRow>> {
  const needed = new Map<Row, NeededRow>()
  const byEntity = Map.groupBy(rows, ({ row }) => idKey(row.entityId))
  const ids = Array.from(byEntity.values(), ([first]) => (first as Row).row.entityId)
  await eachEntity({ context, signal }, ids, (entity) => {
    for (const lost of byEntity.get(idKey(entity.id)) ?? []) {
      const found = ofEntity(context, entity, lost)
      if (found !== undefined) needed.set(lost, found)
    }
  })
  return needed
}

function ofEntity(
  context: EngineContext,
  { id, version, body }: EntityRow,
  { target, shard, row }: LostRow,
): NeededRow | undefined {
  if (body === null) return undefined
  try {
    requireVersion(version)
    const bag = context.codec.decode(body)
    const { keys } = deriveEntryRows(target.entry, bag)
    const lost = keyIdentity(row.key)
    const isThere = placed(context, target, id, keys).some(
      (each) => each.identity === lost && each.shard === shard,
    )
    return isThere ? { version, included: includedBytes(target.entry, bag, context.codec) } : undefined
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    return { version }
  }
}
