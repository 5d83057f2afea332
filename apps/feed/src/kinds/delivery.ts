import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'
import { MEDIA_KINDS } from './entry.ts'

/** Says that an entry has been delivered to all who followed its channel then. */
export const Delivery = defineKind('delivery', {
  schema: z.object({
    entry_id: z.uuid(),
    /** Number of people whose inbox got the entry. */
    recipients: z.int().nonnegative(),
    delivered: z.date(),
    /** Kind of media and id of the link that its inbox items know. */
    media: z.enum(MEDIA_KINDS),
    link_key: z.string().optional(),
    /** `bumped` of the entry when its inbox items got it last. */
    bumped: z.date(),
    /** Earliest time at which they get it again, so that a busy entry costs its writes once a minute. */
    next_bump: z.date(),
    /** The same time if the entry has a comment that its items do not know; otherwise absent. */
    bump_due: z.date().optional(),
  }),
  near: 'entry_id',
  /** Finds the entries with comments that their inbox items do not know. */
  indexes: { byDue: { by: [{ bump_due: { type: 'time', nulls: 'skip' } }], shardOn: 'id' } },
})

export type Delivery = ItemOf<typeof Delivery>

/** Returns the id of an entry's delivery. It is in the entry's bucket. */
export function deliveryId(entryId: string): string {
  return deriveId('delivery', entryId, { near: entryId })
}
