import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'
import { MEDIA_KINDS } from './entry.ts'

/** An entry in a person's inbox. */
export const InboxItem = defineKind('inbox', {
  // Deliveries write far more items than anything else. To check that each id has the form of one (`z.uuid()`) would take a tenth of their time.
  schema: z.object({
    person_id: z.string(),
    entry_id: z.string(),
    /** Channel of the entry: a source or a person. */
    channel_id: z.string(),
    /** Channels that the person follows and that brought the entry. */
    via: z.array(z.string()).readonly(),
    /** Time at which the site got the entry. Order of the newest first. */
    arrived: z.date(),
    /** Time at which the inbox got it: never later than a moment after the entry came, unless deliveries lag. */
    delivered: z.date(),
    /** Time of the last comment, or of arrival. Order of the latest activity. */
    bumped: z.date(),
    /** Kind of media, for the filter. */
    media: z.enum(MEDIA_KINDS),
    /** Id of its link, by which entries with the same link are one story. */
    link_key: z.string().optional(),
    /** True once the person has opened or marked it. */
    read: z.boolean(),
    /** True for an entry that the person has hidden. */
    hidden: z.boolean(),
  }),
  near: 'person_id',
  indexes: {
    /**
     * Has all that a home page needs to order, filter and count its entries, on the shard of the person. A home page reads one range of
     * at most `HOME_LIMIT` rows.
     */
    byPerson: {
      by: [{ person_id: 'uuid' }, { arrived: 'time' }],
      include: [
        'entry_id',
        'channel_id',
        'via',
        'delivered',
        'bumped',
        'media',
        'link_key',
        'read',
        'hidden',
      ],
    },
    /** Finds the items of an entry that is bumped or removed. */
    byEntry: { by: [{ entry_id: 'uuid' }, { person_id: 'uuid' }] },
  },
})

export type InboxItem = ItemOf<typeof InboxItem>

/** Largest number of entries of a home page, all pages together. */
export const HOME_LIMIT = 400

/** Returns the id of an entry's item in a person's inbox. It is derived, so that a second delivery finds the first. */
export function inboxItemId(personId: string, entryId: string): string {
  return deriveId('inbox', [personId, entryId], { near: personId })
}
