import { throwIfAborted, type CatalogEntry, type IndexRow } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { sizeClass } from '../throttle/throttle.ts'
import type { MoveWork } from './move-work.ts'

const PAGE = 1_000

/** Yields the rows of an index table on a shard in key order, with their included bytes. */
export async function* pagesOfRows(
  { context, throttle, signal }: Omit<MoveWork, 'move'>,
  entry: CatalogEntry,
  number: number,
): AsyncGenerator<readonly IndexRow[], void, undefined> {
  const spec = tableSpec(entry)
  const table = shardAt(context, number).index(spec)
  for (let after: IndexRow | undefined; ;) {
    throwIfAborted(signal)
    const scan = {
      prefix: [],
      order: 'asc' as const,
      limit: PAGE,
      ...(after !== undefined && { after: { key: after.key, entityId: after.entityId } }),
      ...(spec.covering && { included: true }),
    }
    const rows = await throttle.send(
      number,
      ({ length }) => `rows ${entry.table} ${sizeClass(length)}`,
      () => table.scan(scan, { signal }),
      signal,
    )
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    await throttle.take(number, rows.length, signal)
    if (rows.length < PAGE) return
    after = last
  }
}
