import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface FollowProperties {
  readonly person_id: string
  /** Channel that the person follows: the id of a source, or of another person. */
  readonly channel_id: string
  readonly since: Date
  /**
   * The person's id if the channel has so many followers that its entries are read at each visit; otherwise absent, because its entries
   * are delivered to the inbox.
   */
  readonly pulled_by?: string | undefined
}

export const Follow = defineKind('follow', {
  schema: typed<FollowProperties>(),
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

export type Follow = Item<FollowProperties>

/** Returns the id of a person's follow of a channel. It is in the person's bucket. */
export function followId(personId: string, channelId: string): string {
  return deriveId('follow', [personId, channelId], { near: personId })
}
