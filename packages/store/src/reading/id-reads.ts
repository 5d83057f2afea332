import { idKey, type EntityId, type Key } from '@looseleaf/core'
import type { QueryOptions, QueryPage, QueryPlan, QueryPorts } from '@looseleaf/index-engine'

/** Nothing is decoded, so nothing can be damaged. */
export type QueryIdsOptions = Omit<QueryOptions, 'onDamaged'>

/** A page of ids that index rows tell of. */
export interface IdPage extends Omit<QueryPage, 'items'> {
  readonly items: readonly { readonly id: EntityId }[]
}

/** What an id counts as among the bytes of a page. */
const ID_BYTES = 200

/**
 * Turns a query into one that believes its rows: an entity is an answer at the first of its rows that was met, and is not
 * read. A row where a page begins is believed as well: it was there when the other page was read.
 */
export function createIdReads(plan: QueryPlan): {
  readonly plan: QueryPlan
  readonly read: QueryPorts['read']
} {
  const keys = new Map<string, Key>()
  const meet = ({ key, entityId }: { readonly key: Key; readonly entityId: Uint8Array }): void => {
    const id = idKey(entityId)
    if (!keys.has(id)) keys.set(id, key)
  }
  return {
    plan: {
      ...plan,
      // It was put there by `read`.
      firstKey: (bag) => bag['key'] as Key,
      open(order, start, maxRows, fetch) {
        if (start?.inclusive) meet(start)
        return plan.open(order, start, maxRows, async (...asked) => {
          const rows = await fetch(...asked)
          rows.forEach(meet)
          return rows
        })
      },
    },
    async read(ids, _, take) {
      take(
        ids.map((id) => {
          const bag = { key: keys.get(idKey(id)) as Key }
          return { id, bag, version: 0, updated: undefined, bytes: ID_BYTES }
        }),
      )
    },
  }
}
