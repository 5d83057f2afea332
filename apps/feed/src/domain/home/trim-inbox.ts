import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'

/**
 * Items of an inbox that stay. Items behind the newest `HOME_LIMIT` return to the home page when newer ones are removed, as by the end of a
 * follow.
 */
export const INBOX_KEPT = 2 * HOME_LIMIT
/** Largest number of items that one look removes. */
const STEP = 200
/** Number of items that are brought to a person for each look at the inbox. */
const LOOK_EVERY = 32

/** Tells by the id of an item whether bringing it looks at the inbox, which costs a count. A repeated call decides in the same way. */
export function isLookDue(itemId: string): boolean {
  return Number.parseInt(itemId.slice(-2), 16) % LOOK_EVERY === 0
}

/** Removes the oldest items of an inbox that has many more than `INBOX_KEPT`, in steps, and never one of the newest `HOME_LIMIT`. */
export async function trimInbox({ inbox }: SiteData, person_id: string): Promise<void> {
  const where = { person_id }
  // Rows without an entity count too, so the items below are read with their versions.
  if ((await inbox.byPerson.count(where, { exact: false })) < INBOX_KEPT + STEP) return
  const [newest, oldest] = await Promise.all([
    inbox.byPerson.list(where, { order: 'desc', limit: HOME_LIMIT }),
    inbox.byPerson.list(where, { limit: STEP }),
  ])
  const last = newest.items[HOME_LIMIT - 1]
  if (last === undefined) return
  const extra = oldest.items.filter(({ arrived }) => arrived < last.arrived)
  await inbox.deleteMany(extra.map(({ id }) => id))
}
