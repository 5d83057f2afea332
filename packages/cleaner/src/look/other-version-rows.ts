import { idKey } from '@looseleaf/core/internal'
import { shardsOfRow } from '@looseleaf/index-engine/internal'
import { readAtOwners } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'
import type { TargetRow } from './dangling-among.ts'

/**
 * Returns those of these rows that have another version than their entity, or that are on the wrong shard of their key. It reads no bodies: a
 * row is stamped with the version of the bag that it was derived from, so a row with its entity's version is right. There is one exception.
 * Two writers that start from the same version within a millisecond choose the same new version once in a thousand times. Then the rows of
 * the loser have the version of the entity too, and dangle until a sweep or the tail finds them.
 *
 * Reads the versions after the rows were read, as `danglingAmong` does.
 */
export async function otherVersionRows(
  { context, signal, throttle }: Pick<Pass, 'context' | 'signal' | 'throttle'>,
  shard: number,
  rows: readonly TargetRow[],
): Promise<TargetRow[]> {
  const versions = new Map<string, number | undefined>()
  const ids = rows.map(({ row }) => row.entityId)
  await readAtOwners(
    context,
    ids,
    async ({ shard: { entities }, ids: group, areOwned }) => {
      await throttle.rest(signal)
      const found = await entities.readVersions(group, { signal })
      if (!(await areOwned())) return group
      for (const [i, id] of group.entries()) versions.set(idKey(id), found[i])
      return []
    },
    { signal },
  )
  const { placement } = context.catalog.current()
  return rows.filter(
    ({ target, row }) =>
      versions.get(idKey(row.entityId)) !== row.version ||
      !shardsOfRow(target.entry, placement, row.key, row.entityId).includes(shard),
  )
}
