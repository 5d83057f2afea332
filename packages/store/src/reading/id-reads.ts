import type { EntityId } from '@looseleaf/core'
import type { QueryOptions, QueryPage, QueryPorts } from '@looseleaf/index-engine'

/** Nothing is decoded, so nothing can be damaged. */
export type QueryIdsOptions = Omit<QueryOptions, 'onDamaged'>

/** A page of ids that index rows tell of. */
export interface IdPage extends Omit<QueryPage, 'items'> {
  readonly items: readonly { readonly id: EntityId }[]
}

/** What an id counts as among the bytes of a page. */
const ID_BYTES = 200

/** What rows alone tell of entities: their ids. Each is an answer at the row by which it was read. */
export const readIds: QueryPorts['read'] = async (rows, _, take) => {
  take(
    rows.map(({ key, entityId }) => ({
      id: entityId,
      bag: {},
      key,
      version: 0,
      updated: undefined,
      bytes: ID_BYTES,
    })),
  )
}
