import { throwIfAborted, type IndexRow, type Key } from '@looseleaf/core/internal'
import { sizeClass } from '@looseleaf/protocol/internal'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/** A place in an index table: the row with this key and entity. */
export interface IndexPlace {
  readonly key: Key
  readonly entityId: Uint8Array
}

/** Yields the rows of an index on one shard in key order, after the place `from`, as pages of at most `pass.maxPage` rows. */
export async function* indexPages(
  pass: Pass,
  target: IndexTarget,
  shard: number,
  from?: IndexPlace,
): AsyncGenerator<readonly IndexRow[], void, undefined> {
  const table = tableOn(target, shard)
  let after = from
  for (;;) {
    throwIfAborted(pass.signal)
    const query = {
      prefix: [],
      order: 'asc' as const,
      limit: pass.maxPage,
      ...(after === undefined ? {} : { after }),
    }
    const page = await pass.throttle.send(
      shard,
      ({ length }) => `rows ${target.entry.table} ${sizeClass(length)}`,
      () => table.scan(query, { signal: pass.signal }),
      pass.signal,
    )
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    await pass.throttle.take(shard, page.length, pass.signal)
    if (page.length < pass.maxPage) return
    after = { key: last.key, entityId: last.entityId }
  }
}
