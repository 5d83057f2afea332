import type { Bag, EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'

/** Tells whether the values of an entity may be shown. */
export type MayShow = (bag: Bag, id: EntityId) => boolean

/** The store that a console shows, with the options of the console that its pages need. */
export interface ShownStore {
  readonly store: Pick<DataStore, 'stats' | 'shards' | 'context'>
  readonly base: string
  readonly mayShow: MayShow | undefined
}
