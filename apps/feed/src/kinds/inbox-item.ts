import { defineKind, deriveId, typed, type Item } from 'looseleaf'
import type { MediaKind } from './entry.ts'

interface InboxItemProperties {
  readonly person_id: string
  readonly entry_id: string
  /** Channel of the entry: a source or a person. */
  readonly channel_id: string
  /** Channels that the person follows and that brought the entry. */
  readonly via: readonly string[]
  /** Time at which the site got the entry. Order of the newest first. */
  readonly arrived: Date
  /** Time at which the inbox got it: never later than a moment after the entry came, unless deliveries lag. */
  readonly delivered: Date
  /** Time of the last comment, or of arrival. Order of the latest activity. */
  readonly bumped: Date
  /** Kind of media, for the filter. */
  readonly media: MediaKind
  /** True once the person has opened or marked it. */
  readonly read: boolean
  /** True for an entry that the person has hidden. */
  readonly hidden: boolean
}

/** An entry in a person's inbox. */
export const InboxItem = defineKind('inbox', {
  schema: typed<InboxItemProperties>(),
  near: 'person_id',
  indexes: {
    /**
     * Has all that a home page needs to order, filter and count its entries, on the shard of the person. A home page reads one range of
     * at most `HOME_LIMIT` rows.
     */
    byPerson: {
      by: [{ person_id: 'uuid' }, { arrived: 'time' }],
      include: ['entry_id', 'channel_id', 'via', 'delivered', 'bumped', 'media', 'read', 'hidden'],
    },
    /** Finds the items of an entry that is bumped or removed. */
    byEntry: { by: [{ entry_id: 'uuid' }, { person_id: 'uuid' }] },
  },
})

export type InboxItem = Item<InboxItemProperties>

/** Largest number of entries of a home page, all pages together. */
export const HOME_LIMIT = 400

/** Returns the id of an entry's item in a person's inbox. It is derived, so that a second delivery finds the first. */
export function inboxItemId(personId: string, entryId: string): string {
  return deriveId('inbox', [personId, entryId], { near: personId })
}
