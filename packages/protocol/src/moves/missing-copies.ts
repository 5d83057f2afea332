import { parseId, type CallOptions } from '@looseleaf/core'
import type { AwayBuckets, CopiedEntity, KeptCopy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'

/** Returns a copied entity as its row. */
export function keptCopy({ id, updated }: CopiedEntity): KeptCopy {
  return { id: parseId(id), updated }
}

/** Tells whether a shard has a copy, or a later copy of the same entity, such as one whose answer was lost. */
export async function hasCopy(
  context: EngineContext,
  number: number,
  copy: CopiedEntity | undefined,
  options: CallOptions,
): Promise<boolean> {
  if (copy === undefined) return true
  const [row] = await shardAt(context, number).entities.checksums([parseId(copy.id)], options)
  return row !== undefined && row.updated >= copy.updated
}

/**
 * Returns the records of a source, in their order, whose copies a target lacks, although it has their attempt and has not begun them:
 * 1. The target has some of the copies.
 * 2. The rest is copied, and the source gives the buckets up.
 * 3. The target goes back to step 1, by a restore or by a failover that loses commits. It must not begin.
 *
 * Each record names the last copy since the one before it has begun, and no copy was written to a target without the one before it. So a
 * target with the last copy has all of them, and one without it lacks every later group too.
 */
export async function withoutCopies<Record extends AwayBuckets>(
  context: EngineContext,
  number: number,
  records: readonly Record[],
  options: CallOptions,
): Promise<readonly Record[]> {
  const moves = new Set<number>()
  const lacking: Record[] = []
  for (const record of records) {
    const { move, emptied, last } = record
    // A source is emptied after the target has begun.
    if (emptied !== undefined || !(await hasCopy(context, number, last, options))) moves.add(move)
    if (moves.has(move)) lacking.push(record)
  }
  return lacking
}
