import { parseId, type CallOptions } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'

/**
 * Returns the records of a source, in their order, whose copies a target lacks, although it has their attempt and has not begun them:
 * 1. The target has some of the copies.
 * 2. The rest is copied, and the source gives the buckets up.
 * 3. The target goes back to step 1, by a restore or by a failover that loses commits. It must not begin.
 *
 * Each record names the last copy since the one before it has begun, so the target lacks every later group too. A row of a later time is a
 * later copy of the same entity, such as one whose answer was lost.
 */
export async function withoutCopies<Record extends AwayBuckets>(
  context: EngineContext,
  number: number,
  records: readonly Record[],
  options: CallOptions,
): Promise<readonly Record[]> {
  const copies = records.flatMap(({ last }) => last ?? [])
  const ids = copies.map(({ id }) => parseId(id))
  const rows = ids.length === 0 ? [] : await shardAt(context, number).entities.checksums(ids, options)
  const times = new Map(copies.map(({ id }, i) => [id, rows[i]?.updated]))
  const moves = new Set<number>()
  return records.filter(({ move, emptied, last }) => {
    // A source is emptied after the target has begun.
    if (emptied !== undefined || (last !== undefined && (times.get(last.id) ?? 0) < last.updated))
      moves.add(move)
    return moves.has(move)
  })
}
