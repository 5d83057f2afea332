import type { ChangesOf, unchanged } from 'looseleaf'
import { pagesOf } from '../domain/site/lists.ts'
import { requireAll } from '../domain/site/require-all.ts'
import type { InboxItem } from '../kinds/inbox-item.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { isGone } from '../domain/site/unless-there.ts'

/** Items per batch of reads and writes. */
const PAGE = 500

/** Changes the items of an entry in all inboxes. May be repeated. */
export async function tellItems(
  { inbox }: SiteData,
  entry_id: string,
  change: (item: Pick<InboxItem, 'bumped'>) => ChangesOf<typeof InboxItem> | typeof unchanged,
): Promise<void> {
  for await (const { items } of pagesOf((cursor) =>
    inbox.byEntry.page({ entry_id }, { limit: PAGE, cursor }),
  )) {
    const told = await inbox.updateMany(
      items.map(({ id }) => id),
      change,
      { fates: true },
    )
    // An item may be removed meanwhile.
    requireAll(told, isGone)
  }
}
