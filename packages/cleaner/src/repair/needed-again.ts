import { idKey, isUndecodable, requireVersion, type EntityRow, type Key } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  includedBytes,
  keyIdentity,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { createThrottle } from '@looseleaf/protocol/internal'
import { placed } from '../look/derive-entity.ts'
import { eachEntity } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'

/** A row that its entity has lost, and the shard of the row, which may be the wrong one. */
interface LostRow {
  readonly target: IndexTarget
  readonly shard: number
  readonly row: { readonly key: Key; readonly entityId: Uint8Array }
}

/** Values with which a row is written again. */
export interface NeededRow {
  readonly version: number
  /** Bytes of the included properties, for a covering index. */
  readonly included?: Uint8Array | null | undefined
}

/**
 * Returns those of these rows that their committed entities have again. A row of a body that cannot be decoded counts as needed. A row can be
 * needed although its stamp is old: a writer that writes rows after its entity may have committed, and not written its rows yet.
 */
export async function neededAgain<Row extends LostRow>(
  context: EngineContext,
  rows: readonly Row[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<Row, NeededRow>> {
  const needed = new Map<Row, NeededRow>()
  const byEntity = Map.groupBy(rows, ({ row }) => idKey(row.entityId))
  const ids = Array.from(byEntity.values(), ([first]) => (first as Row).row.entityId)
  const throttle = createThrottle(context.time, undefined, context.share)
  await eachEntity({ context, signal, throttle }, ids, async (entity, shard) => {
    for (const lost of byEntity.get(idKey(entity.id)) ?? []) {
      const neededRow = await neededBy(context, entity, shard, lost)
      if (neededRow !== undefined) needed.set(lost, neededRow)
    }
  })
  return needed
}

async function neededBy(
  context: EngineContext,
  { id, version, body }: EntityRow,
  entityShard: string,
  { target, shard, row }: LostRow,
): Promise<NeededRow | undefined> {
  if (body === null) return undefined
  try {
    requireVersion(version)
    const bag = await context.bodies.decode(body, entityShard)
    const { keys } = deriveEntryRows(target.entry, bag)
    const identity = keyIdentity(row.key)
    const isNeeded = placed(context, target, id, keys).some(
      (expected) => expected.identity === identity && expected.shard === shard,
    )
    return isNeeded ? { version, included: includedBytes(target.entry, bag, context.codec) } : undefined
  } catch (error) {
    if (!isUndecodable(error)) throw error
    return { version }
  }
}
