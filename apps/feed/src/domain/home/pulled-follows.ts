import { unchanged, unset } from 'looseleaf'
import { followId, type Follow } from '../../kinds/follow.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { pulledChannelId, type PulledChannel } from '../../kinds/pulled-channel.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { bringItems } from './bring-items.ts'
import { createPulledLists, type PulledLists } from './pulled-lists.ts'
import { readHomeRows } from './queries.ts'
import { isGone } from '../site/unless-there.ts'

/** The mark of a follow: its channel is read at each visit. */
type Mark = Pick<Follow, 'pulled_by' | 'pulled_turn'>

/** Returns the change that marks a follow for a turn of its channel. */
export function marked(turn: number) {
  return ({ person_id, pulled_turn = 0 }: Pick<Follow, 'person_id' | 'pulled_turn'>) =>
    pulled_turn < turn ? { pulled_by: person_id, pulled_turn: turn } : unchanged
}

/** Returns the change that takes the mark off a follow, unless a later turn of its channel has set it again. */
export function unmarked(turn: number) {
  return ({ pulled_by, pulled_turn = 0 }: Mark) =>
    pulled_by !== undefined && pulled_turn <= turn
      ? ({ pulled_by: unset, pulled_turn: unset } as const)
      : unchanged
}

/** Tells whether followers of a channel read its entries at each visit: none of its entries are delivered. */
export function isPulled({ state }: PulledChannel): boolean {
  return state === 'marking' || state === 'pulled'
}

/**
 * Marks a follow that has just been written, if the entries of its channel are read at each visit, and returns whether they are. Does
 * nothing if the person does not follow the channel any more.
 */
export async function markIfPulled(data: SiteData, personId: string, channelId: string): Promise<boolean> {
  const { pulledChannels, follows } = data
  const id = pulledChannelId(channelId)
  const follow = followId(personId, channelId)
  let channel = await pulledChannels.get(id)
  try {
    while (channel !== undefined && isPulled(channel)) {
      const { turn } = channel
      await follows.update(follow, marked(turn))
      channel = await pulledChannels.get(id)
      if (channel !== undefined && isPulled(channel) && channel.turn === turn) return true
      // The channel has returned to deliveries meanwhile, and may have looked at this follow before it was marked.
      await follows.update(follow, unmarked(turn))
    }
    return false
  } catch (error) {
    if (isGone(error)) return true
    throw error
  }
}

/** Returns lists for `keepPulled` that are read now. They are for a short use, and reject if a shard does not answer. */
export function currentLists(data: SiteData): PulledLists {
  return createPulledLists(data, { keepMs: Infinity, onUnavailable: 'fail' })
}

/**
 * Writes the entries that a channel brings to a home page at each visit into the inbox, with the channels that bring them. They stay there
 * when the channel is not read any more. Idempotent.
 */
export async function keepPulled(
  data: SiteData,
  personId: string,
  channelId: string,
  lists: PulledLists = currentLists(data),
): Promise<void> {
  const { rows } = await readHomeRows(data, personId, lists, 'fail')
  const items = rows
    .filter(({ via }) => via.includes(channelId))
    .map((row) => ({ ...row, person_id: personId, id: inboxItemId(personId, row.entry_id) }))
  await bringItems(data, items)
}
