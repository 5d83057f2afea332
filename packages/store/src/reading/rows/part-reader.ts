import type { CatalogEntry } from '@looseleaf/core/internal'
import { includedPart, type QueryPorts, type ReadEntity } from '@looseleaf/index-engine/internal'
import type { ListCost } from './list-cost.ts'
import type { RowReaderFrom } from './row-reader.ts'

/** Reads whole entities, and takes the part of each that a row of this index would include. */
export function partReader(entry: CatalogEntry): RowReaderFrom {
  return ({ scan, read, costOf }) => ({
    scan,
    read: readParts(entry, read),
    costOf: (cost): ListCost => ({ ...costOf(cost), entitiesCovered: 0 }),
  })
}

export function readParts(entry: CatalogEntry, readWhole: QueryPorts['read']): QueryPorts['read'] {
  const partOf = (entity: ReadEntity | undefined): ReadEntity | undefined =>
    entity && { ...entity, bag: includedPart(entry, entity.bag), updated: undefined }
  return (rows, signal, take) => readWhole(rows, signal, (group) => take(group.map(partOf)))
}
