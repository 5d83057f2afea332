import { throwIfAborted, type EntityPageRow } from '@looseleaf/core'
import { longestBody, wholeRows, type WholeRow } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { Pass } from '../pass/pass.ts'
import { sizeClass } from '../pass/throttle.ts'

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
  const { maxPage, signal, throttle } = pass
  for (;;) {
    throwIfAborted(signal)
    const from = after
    const page = await throttle.send(
      shard,
      kindOfPage,
      () => entities.pageByAdded(from, maxPage, { signal, maxBody: longestBody(maxPage) }),
      signal,
    )
    for await (const rows of wholeRows(entities, pass.context.codec, page, { signal })) {
      if (rows.length > 0) yield rows
      await throttle.take(shard, rows.length, signal)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < maxPage) return
    after = last.addedId
  }
}

/** By its rows and its bytes: to read a page is to move both. */
function kindOfPage(page: readonly EntityPageRow[]): string {
  const bytes = page.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
  return `entities ${sizeClass(page.length)} ${sizeClass(bytes)}`
}
