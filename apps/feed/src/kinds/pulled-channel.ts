import { defineKind, deriveId, typed, type Item } from 'looseleaf'

interface ChannelProperties {
  readonly channel_id: string
  /**
   * `marking`: its entries are not delivered, and some of its follows lack their mark. `pulled`: all follows have it. `returning`: its
   * entries are delivered again, and some follows still have the mark. `pushed`: none needs it.
   */
  readonly state: 'marking' | 'pulled' | 'returning' | 'pushed'
  /** Number of times that its entries have ceased to be delivered. The marks of its follows have it too. */
  readonly turn: number
  /** Earliest time at which its followers are counted again. */
  readonly next_count: Date
}

/**
 * Says whether the entries of a channel, a source or a person, are read by its followers at each visit, because they are too many to
 * deliver its entries to each of them. A channel without it is delivered.
 */
export const PulledChannel = defineKind('pulled_channel', { schema: typed<ChannelProperties>() })

export type PulledChannel = Item<ChannelProperties>

/** Returns the id of a channel's entity. It is in the channel's bucket, with the rows of its followers. */
export function pulledChannelId(channelId: string): string {
  return deriveId('pulled channel', channelId, { near: channelId })
}
