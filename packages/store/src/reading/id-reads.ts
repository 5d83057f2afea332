import type { EntityId } from '@looseleaf/core'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'
import type { QueryPorts } from '@looseleaf/index-engine/internal'

/** Has no `onDamaged`, because no body is decoded. */
export type QueryIdsOptions = Omit<QueryOptions, 'onDamaged'>

/** A page of ids from index rows. */
export interface IdPage extends Omit<QueryPage, 'items'> {
  readonly items: readonly { readonly id: EntityId }[]
}

/** Bytes of one id in the budget of a page. */
const ID_BYTES = 200

/** Takes the ids from the rows, without reading entities. The key of its row makes each id an answer at that place. */
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
