import { unchanged } from 'looseleaf'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { requireAll } from '../site/require-all.ts'
import { isGone, isThere } from '../site/unless-there.ts'

/** A new item of an inbox with its id. */
type NewItem = Parameters<SiteData['inbox']['insertMany']>[0][number] & { readonly id: string }

/**
 * Inserts items into inboxes. An item that is there already keeps what its person did, and learns the channels that bring its entry. So a
 * call may be repeated, and may be interrupted.
 */
export async function bringItems({ inbox }: SiteData, items: readonly NewItem[]): Promise<void> {
  const inserted = await inbox.insertMany(items, { fates: true })
  requireAll(inserted, isThere)
  const brought = new Map(items.filter((_, i) => !inserted[i]!.ok).map(({ id, via }) => [id, via]))
  if (brought.size === 0) return
  const joined = await inbox.updateMany(
    [...brought.keys()],
    ({ person_id, entry_id, via }) => {
      const all = new Set([...via, ...(brought.get(inboxItemId(person_id, entry_id)) ?? [])])
      return all.size === via.length ? unchanged : { via: [...all] }
    },
    { fates: true },
  )
  // An item may be removed meanwhile.
  requireAll(joined, isGone)
}
