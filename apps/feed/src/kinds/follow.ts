import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

export const Follow = defineKind('follow', {
  schema: z.object({
    person_id: z.uuid(),
    /** Channel that the person follows: the id of a source, or of another person. */
    channel_id: z.uuid(),
    since: z.date(),
    /**
     * The person's id if the channel has so many followers that its entries are read at each visit; otherwise absent, because its entries
     * are delivered to the inbox.
     */
    pulled_by: z.uuid().optional(),
    /** `turn` of the channel's `PulledChannel` when it was marked so. */
    pulled_turn: z.int().optional(),
  }),
  near: 'person_id',
  indexes: {
    /** Lists the channels of a person, latest first. */
    byPerson: { by: [{ person_id: 'uuid' }, { since: 'time' }], include: ['channel_id'] },
    /** Lists the followers of a channel, for deliveries. */
    byChannel: { by: [{ channel_id: 'uuid' }, { person_id: 'uuid' }], include: ['since'] },
    /** Lists the channels that are read at each visit of a person. */
    byPuller: { by: [{ pulled_by: { type: 'uuid', nulls: 'skip' } }], include: ['channel_id'] },
  },
})

export type Follow = ItemOf<typeof Follow>

/** Returns the id of a person's follow of a channel. It is in the person's bucket. */
export function followId(personId: string, channelId: string): string {
  return deriveId('follow', [personId, channelId], { near: personId })
}
