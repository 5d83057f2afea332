import { throwIfAborted, type EntityPageRow } from '@looseleaf/core/internal'
import { longestBody, wholeRows, type WholeRow } from '@looseleaf/index-engine/internal'
import { shardAt, sizeClass } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'

/**
 * Yields the entities and tombstones of a shard by `added_id`, as pages of at most `pass.maxPage` rows and some MiB of bodies.
 */
export async function* entityPages(
  pass: Pass,
  shard: number,
  after = 0,
): AsyncGenerator<readonly WholeRow<EntityPageRow>[], void, undefined> {
  const source = shardAt(pass.context, shard)
  const { maxPage, signal, throttle } = pass
  for (;;) {
    throwIfAborted(signal)
    const from = after
    const page = await throttle.send(
      shard,
      kindOfPage,
      () => source.entities.pageByAdded(from, maxPage, { signal, maxBody: longestBody(maxPage) }),
      signal,
    )
    for await (const rows of wholeRows(source, pass.context, page, { signal })) {
      if (rows.length > 0) yield rows
      await throttle.take(shard, rows.length, signal)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < maxPage) return
    after = last.addedId
  }
}

/** Kind of the statement for the latency gauge: its time depends on both rows and bytes. */
function kindOfPage(page: readonly EntityPageRow[]): string {
  const bytes = page.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
  return `entities ${sizeClass(page.length)} ${sizeClass(bytes)}`
}
