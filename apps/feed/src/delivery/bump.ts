import { unchanged, unset } from 'looseleaf'
import type { Delivery } from '../kinds/delivery.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { tellItems } from './tell-items.ts'
import { isOvertaken } from '../domain/site/overtaken.ts'

/** Deliveries per batch of reads. */
const PAGE = 500
/** Shortest time between two bumps of an entry, in milliseconds. */
export const BUMP_EVERY_MS = 60_000

/**
 * Tells the items of an entry the time of its last comment. If they were told less than a minute ago, it only notes that they have to be
 * told then. Throws `VERSION_MISMATCH` if another process does the same: read the delivery again.
 */
export async function bump(data: SiteData, delivery: Delivery, bumped: Date, now: Date): Promise<void> {
  if (bumped <= delivery.bumped) return
  if (now < delivery.next_bump) {
    if (delivery.bump_due === undefined)
      await data.deliveries.update(delivery, { bump_due: delivery.next_bump })
    return
  }
  await tellItems(data, delivery.entry_id, (item) => (item.bumped < bumped ? { bumped } : unchanged))
  const next_bump = new Date(now.getTime() + BUMP_EVERY_MS)
  await data.deliveries.update(delivery, { bumped, next_bump, bump_due: unset })
}

/** Bumps all entries whose minute has passed. Another call bumps an entry that another process changes at the same moment. */
export async function bumpDue(data: SiteData, now: Date): Promise<void> {
  const due = data.deliveries.byDue.each({ bump_due: { lte: now } }, { limit: PAGE, scatter: true })
  for await (const delivery of due) {
    const entry = await data.entries.get(delivery.entry_id)
    const hasItems = entry !== undefined && entry.removed === undefined
    try {
      if (hasItems) await bump(data, delivery, entry.bumped, now)
      else await data.deliveries.update(delivery, { bump_due: unset })
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
  }
}
