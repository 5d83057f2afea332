import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/**
 * Says whether the entries of a channel, a source or a person, are read by its followers at each visit, because they are too many to
 * deliver its entries to each of them. A channel without it is delivered.
 */
export const PulledChannel = defineKind('pulled_channel', {
  schema: z.object({
    channel_id: z.uuid(),
    /**
     * `marking`: its entries are not delivered, and some of its follows lack their mark. `pulled`: all follows have it. `returning`: its
     * entries are delivered again, and some follows still have the mark. `pushed`: none needs it.
     */
    state: z.enum(['marking', 'pulled', 'returning', 'pushed']),
    /** Number of times that its entries have ceased to be delivered. The marks of its follows have it too. */
    turn: z.int(),
    /** Earliest time at which its followers are counted again. */
    next_count: z.date(),
  }),
  near: 'channel_id',
})

export type PulledChannel = ItemOf<typeof PulledChannel>

/** Returns the id of a channel's entity. It is in the channel's bucket, with the rows of its followers. */
export function pulledChannelId(channelId: string): string {
  return deriveId('pulled channel', channelId, { near: channelId })
}
