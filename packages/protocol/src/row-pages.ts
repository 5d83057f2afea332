import { idKey, throwIfAborted, type CatalogEntry, type IndexRow } from '@looseleaf/core/internal'
import { keyIdentity, tableSpec, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from './shards.ts'
import { sizeClass, type Throttle } from './throttle/throttle.ts'

/** A place in an index table: the row with this key and entity. */
export type IndexPlace = Pick<IndexRow, 'key' | 'entityId'>

/** Names a row among those of its index. */
export function rowText({ key, entityId }: IndexPlace): string {
  return `${idKey(entityId)} ${keyIdentity(key)}`
}

export interface RowPagesOptions {
  /** Rows of a page, at most. A rate limit makes pages shorter. */
  readonly limit: number
  /** Begins behind this place. Default: at the beginning. */
  readonly after?: IndexPlace | undefined
  /** Reads the included bytes of a covering index too. Default: false. */
  readonly included?: boolean
}

interface RowReading {
  readonly context: EngineContext
  readonly throttle: Throttle
  readonly signal?: AbortSignal | undefined
}

/** Yields the rows of an index table on a shard in key order, as pages. */
export async function* pagesOfRows(
  { context, throttle, signal }: RowReading,
  entry: CatalogEntry,
  number: number,
  { limit, after, included = false }: RowPagesOptions,
): AsyncGenerator<readonly IndexRow[], void, undefined> {
  const spec = tableSpec(entry)
  const table = shardAt(context, number).index(spec)
  const size = Math.min(limit, throttle.maxPage)
  for (let place = after; ;) {
    throwIfAborted(signal)
    const scan = {
      prefix: [],
      order: 'asc' as const,
      limit: size,
      ...(place !== undefined && { after: place }),
      ...(included && spec.covering && { included: true }),
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
    if (rows.length < size) return
    place = { key: last.key, entityId: last.entityId }
  }
}
