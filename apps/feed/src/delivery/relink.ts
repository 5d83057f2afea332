import { unset, type ChangesOf } from 'looseleaf'
import type { Delivery } from '../kinds/delivery.ts'
import type { Entry } from '../kinds/entry.ts'
import type { InboxItem } from '../kinds/inbox-item.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { tellItems } from './tell-items.ts'

/**
 * Tells the items of an entry its link and its kind of media, if an edit has changed them. Returns the delivery, which knows them then. Throws
 * `VERSION_MISMATCH` if another process does the same: read the delivery again.
 */
export async function relink(
  data: SiteData,
  delivery: Delivery,
  { link_key, media_kind: media }: Pick<Entry, 'link_key' | 'media_kind'>,
): Promise<Delivery> {
  if (delivery.link_key === link_key && delivery.media === media) return delivery
  const change: ChangesOf<typeof InboxItem> & ChangesOf<typeof Delivery> = {
    media,
    link_key: link_key ?? unset,
  }
  await tellItems(data, delivery.entry_id, () => change)
  return data.deliveries.update(delivery, change)
}
