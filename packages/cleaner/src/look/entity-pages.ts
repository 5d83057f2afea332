import { throwIfAborted, type EntityPageRow } from '@looseleaf/core/internal'
import { longestBody, wholeRows, type WholeRow } from '@looseleaf/index-engine/internal'
import { shardAt, sizeClass, watchOwned, type OwnedWatch } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'

export interface EntityPagesOptions {
  /** Yields rows behind this `addedId`. Default: all. */
  readonly after?: number | undefined
  /** Ends with the page that reaches this `addedId`, so that rows that are added as fast as they are read do not put the end off. */
  readonly upTo: number
  /** A watch that began before this call. It tells the caller which buckets were read whole. Default: a new one. */
  readonly watch?: OwnedWatch | undefined
}

/**
 * Yields the entities and tombstones of a shard by `added_id`, as pages of at most `pass.entityRows()` rows and some MiB of bodies. Leaves out
 * rows whose bucket the shard does not own: copies of a move that has not begun there, and leftovers of one that has. A page may be empty.
 */
export async function* entityPages(
  pass: Pass,
  shard: number,
  { after = 0, upTo, watch: given }: EntityPagesOptions,
): AsyncGenerator<readonly WholeRow<EntityPageRow>[], void, undefined> {
  const source = shardAt(pass.context, shard)
  const { signal, throttle } = pass
  const watch = given ?? (await watchOwned(pass.context, shard, { signal }))
  for (let place = after; ;) {
    throwIfAborted(signal)
    const from = place
    const limit = pass.entityRows()
    const page = await throttle.send(
      shard,
      kindOfPage,
      () => source.entities.pageByAdded(from, limit, { signal, maxBody: longestBody(limit) }),
      signal,
    )
    for await (const rows of wholeRows(source, pass.context, page, { signal })) {
      yield await watch.owned(rows)
      await throttle.take(shard, rows.length, signal)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < limit || last.addedId >= upTo) return
    place = last.addedId
  }
}

/** Kind of the statement for the latency gauge: its time depends on both rows and bytes. */
function kindOfPage(page: readonly EntityPageRow[]): string {
  const bytes = page.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
  return `entities ${sizeClass(page.length)} ${sizeClass(bytes)}`
}
