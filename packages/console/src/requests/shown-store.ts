import type { Bag, EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Link } from '../kit/page.ts'

/** Tells whether the values of an entity may be shown. */
export type MayShow = (bag: Bag, id: EntityId) => boolean

/** Returns a link to the page of the application that shows an entity; undefined if there is none. */
export type PageOf = (bag: Bag, id: EntityId) => Link | undefined

/** The store that a console shows, with the options of the console that its pages need. */
export interface ShownStore {
  readonly store: Pick<DataStore, 'stats' | 'shards' | 'context'>
  readonly base: string
  readonly mayShow: MayShow | undefined
  readonly pageOf: PageOf | undefined
}
