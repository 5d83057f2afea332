import { isLooseleafError } from 'looseleaf'
import { pagesOf } from '../domain/site/lists.ts'
import { pulledChannelId } from '../kinds/pulled-channel.ts'
import type { SiteData } from '../kinds/site-data.ts'
import type { Strategy } from './strategy.ts'
import { requireAll } from './require-all.ts'

/** Follows per page. */
const PAGE = 500

/**
 * Returns true if the followers of a channel read its entries at each visit. A channel with too many followers becomes such a channel here:
 * first its entity is written, which new followers look at, and then all earlier follows are marked. An interrupted call is completed by
 * the next one.
 */
export async function isPulled(
  { pulledChannels, follows }: SiteData,
  channel_id: string,
  { pushUpTo }: Strategy,
  now: Date,
): Promise<boolean> {
  const id = pulledChannelId(channel_id)
  const known = await pulledChannels.get(id)
  if (known?.all_marked === true) return true
  if (known === undefined) {
    if (pushUpTo === Infinity) return false
    if ((await follows.byChannel.count({ channel_id }, { exact: false })) <= pushUpTo) return false
    await pulledChannels.upsert(id, { channel_id, pulled_since: now, all_marked: false }, {})
  }
  for await (const { items } of pagesOf((cursor) =>
    follows.byChannel.list({ channel_id }, { limit: PAGE, cursor }),
  )) {
    const ids = items.map((follow) => follow.id)
    const marked = await follows.updateMany(ids, ({ person_id }) => ({ pulled_by: person_id }), {
      fates: true,
    })
    // A person may have unfollowed meanwhile.
    requireAll(marked, (error) => isLooseleafError(error, 'NOT_FOUND'))
  }
  await pulledChannels.update(id, { all_marked: true })
  return true
}
