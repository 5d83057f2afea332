import { isLooseleafError, type IndexRow } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { isHeld, takeKey, type TakeKey } from '@looseleaf/protocol'
import { shardAt, tableOn, type IndexTarget } from '../pass/index-target.ts'

/** A key that is not its entity's alone: another one is committed with it. */
export interface DuplicateKey<Row extends IndexRow> {
  readonly row: Row
  /** The id of the other entity, which holds the key. */
  readonly holder: Uint8Array
}

/** Claims that could not be had. */
export interface NotHad<Row extends IndexRow> {
  readonly duplicates: readonly DuplicateKey<Row>[]
  /** How many are left to a later pass: a failover may still bring back who has given them up, or others are at them. */
  readonly later: number
}

/**
 * Writes rows of entities that were read at these versions; no stamp gets lower. Claims are taken, from entities that have
 * left them behind as well. Answers those that could not be.
 */
export async function writeRows<Row extends IndexRow>(
  context: EngineContext,
  target: IndexTarget,
  shard: number,
  rows: readonly Row[],
  signal: AbortSignal | undefined,
): Promise<NotHad<Row>> {
  const { entry, spec } = target
  if (!entry.unique) {
    await tableOn(target, shard).upsert(rows, { signal })
    return { duplicates: [], later: 0 }
  }
  const take: TakeKey = async (at, table, row) =>
    (await shardAt(context, at).claims(table).take([row], { signal }))[0]
  const claims = await shardAt(context, shard).claims(spec).take(rows, { signal })
  const duplicates: DuplicateKey<Row>[] = []
  let later = 0
  for (const [i, row] of rows.entries()) {
    if (isHeld(claims[i], row)) continue
    try {
      const holder = await takeKey(context, take, { entry, ...row }, signal)
      if (holder !== undefined) duplicates.push({ row, holder })
    } catch (error) {
      // One key that has to wait keeps nobody from the others.
      if (!isLooseleafError(error, 'CONFLICT')) throw error
      later++
    }
  }
  return { duplicates, later }
}
