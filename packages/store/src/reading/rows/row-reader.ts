import type { QueryCost } from '@looseleaf/index-engine'
import { tableSpec, type QueryPorts } from '@looseleaf/index-engine/internal'
import type { ReadOptions } from '../entities/entity-reader.ts'
import type { Sources } from '../steps/read.ts'

/** Reads the index rows of a plan, and the items to which they lead. */
export interface RowReader extends QueryPorts {
  /** Corrects the cost of a page, which counts an entity for every item. Without it every item was a whole entity. */
  readonly costOf?: (cost: QueryCost) => QueryCost
}

/** Makes another reader from the reader of whole entities. */
export type RowReaderFrom = (whole: RowReader) => RowReader

/** Makes the usual reader: each item is the entity of its row, by id. */
export function wholeReader(
  { view: { lanes, reader }, entries }: Sources,
  handleDamaged: ReadOptions['handleDamaged'],
): RowReader {
  return {
    scan: (shard, scan, signal, index) =>
      lanes(shard).index(tableSpec(entries[index]!)).scan.submit(scan, signal),
    read: (rows, signal, take) =>
      reader.each(
        rows.map(({ entityId }) => entityId),
        { signal, handleDamaged },
        take,
      ),
  }
}
