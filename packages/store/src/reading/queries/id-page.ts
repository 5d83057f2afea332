import type { EntityId } from '@looseleaf/core'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'

/** Has no `onDamaged`, because no body is decoded. */
export type QueryIdsOptions = Omit<QueryOptions, 'onDamaged'>

/** A page of ids from index rows. */
export interface IdPage extends Omit<QueryPage, 'items'> {
  readonly items: readonly { readonly id: EntityId }[]
}
