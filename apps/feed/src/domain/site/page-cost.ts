import type { QueryCost } from 'looseleaf'
import type { Sent } from './sent.ts'

/** Cost of a page in the store so far. */
export interface PageCost {
  /** Entities that were read. */
  entities: number
  /** Index rows that were read in vain: their entity had changed, was deleted, or was a duplicate. */
  rowsDiscarded: number
  /** False if an index could not answer in full. */
  complete: boolean
  /** Calls of the page, and statements for them, including those that it shared with other requests. */
  sent(): Sent
}

export function emptyCost(sent: () => Sent): PageCost {
  return { entities: 0, rowsDiscarded: 0, complete: true, sent }
}

export function addQueryCost(cost: PageCost, query: QueryCost): void {
  cost.entities += query.entitiesRead
  cost.rowsDiscarded += query.rowsDiscarded
  cost.complete &&= query.complete
}
