import { idKey } from '@looseleaf/core'
import { shardOfRow } from '@looseleaf/index-engine'
import { idsByShard } from '@looseleaf/protocol'
import type { Pass } from '../pass/pass.ts'
import type { TargetRow } from './dangling-among.ts'

/**
 * The rows that have another version than their entity, or stand on a shard that their key does not lead to. Every other one
 * is its entity's: a row is stamped with the version of the bag that it was derived from. But where two writers have chosen the same
 * version, one in a thousand of those that begin from one version within a millisecond, the rows of the one that has lost
 * are not told from those of the other; they dangle until a sweep, or whoever follows the writes, finds them.
 *
 * The rows have been read before the versions, as in `danglingAmong`.
 */
export async function ofOtherVersions(
  { context, signal }: Pick<Pass, 'context' | 'signal'>,
  shard: number,
  rows: readonly TargetRow[],
): Promise<TargetRow[]> {
  const versions = new Map<string, number | undefined>()
  const ids = rows.map(({ row }) => row.entityId)
  await Promise.all(
    Array.from(idsByShard(context, ids), async ([{ entities }, group]) => {
      const found = await entities.readVersions(group, { signal })
      for (const [i, id] of group.entries()) versions.set(idKey(id), found[i])
    }),
  )
  return rows.filter(
    ({ target, row }) =>
      versions.get(idKey(row.entityId)) !== row.version ||
      shardOfRow(target.entry, context.router, row.key, row.entityId) !== shard,
  )
}
