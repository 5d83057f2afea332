import type { QueryCost } from 'looseleaf'

/** What a page has asked of the store so far. */
export interface PageCost {
  /** The most shards that one question went to. */
  shards: number
  /** Reads of index tables and of the entity table. */
  indexReads: number
  entityReads: number
  /** Entities that came back. */
  entities: number
  /** Index rows that led to no entity of the page: it had changed, gone, or been there already. */
  rowsDiscarded: number
  /** False when an index could not answer in full. */
  complete: boolean
}

export function emptyCost(): PageCost {
  return { shards: 0, indexReads: 0, entityReads: 0, entities: 0, rowsDiscarded: 0, complete: true }
}

export function addQueryCost(cost: PageCost, query: QueryCost): void {
  cost.shards = Math.max(cost.shards, query.shards)
  cost.indexReads += query.indexReads
  cost.entityReads += query.entityReads
  cost.entities += query.entitiesRead
  cost.rowsDiscarded += query.rowsDiscarded
  cost.complete &&= query.complete
}
