import { throwIfAborted, type EntityPageRow } from '@looseleaf/core'
import { longestBody, wholeRows, type WholeRow } from '@looseleaf/index-engine'
import { shardAt } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/**
 * The entities of a shard, tombstones too, in the order of writing, as pages within the pass's limits: of so many rows, and
 * of some MiB of bodies.
 */
export async function* entityPages(
  pass: Pass,
  shard: number,
  after = 0,
): AsyncGenerator<readonly WholeRow<EntityPageRow>[], void, undefined> {
  const { entities } = shardAt(pass.context, shard)
  const { maxPage, signal } = pass
  for (;;) {
    throwIfAborted(signal)
    const page = await entities.pageByAdded(after, maxPage, { signal, maxBody: longestBody(maxPage) })
    for await (const rows of wholeRows(entities, page, { signal })) {
      if (rows.length > 0) yield rows
      await pass.throttle.take(rows.length, signal)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < maxPage) return
    after = last.addedId
  }
}
