import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface ChannelProperties {
  readonly channel_id: string
  /** Time from which its entries are read at each visit of its followers. */
  readonly pulled_since: Date
  /** False while follows from before that time may lack `pulled_by`. */
  readonly all_marked: boolean
}

/**
 * Says that a channel, a source or a person, has too many followers to deliver its entries to each of them. A channel without it is
 * delivered.
 */
export const PulledChannel = defineKind('pulled_channel', { schema: typed<ChannelProperties>() })

export type PulledChannel = Item<ChannelProperties>

/** Returns the id of a channel's entity. It is in the channel's bucket, with the rows of its followers. */
export function pulledChannelId(channelId: string): string {
  return deriveId('pulled channel', channelId, { near: channelId })
}
