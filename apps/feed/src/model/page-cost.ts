import type { QueryCost } from 'looseleaf'
import type { Sent } from './sent.ts'

/** What a page has asked of the store so far. */
export interface PageCost {
  /** Entities that came back. */
  entities: number
  /** Index rows that led to no entity of the page: it had changed, gone, or been there already. */
  rowsDiscarded: number
  /** False when an index could not answer in full. */
  complete: boolean
  /** Calls that were made for the page, and the statements that were sent, those that it shared with others included. */
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
