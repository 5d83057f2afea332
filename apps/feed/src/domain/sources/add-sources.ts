import type { SiteData } from '../../kinds/site-data.ts'
import { SOURCE_STRIPES } from '../../kinds/source.ts'
import { hostOf } from '../../text/web-link.ts'
import { titledAs } from '../search/found-by.ts'
import type { SavedSource, SaveOptions } from './save-file-source.ts'
import { feedName, fetchedSourceId } from './source-names.ts'
import { isThere } from '../site/unless-there.ts'

/** A feed that the site shall fetch. */
export interface FeedToFetch {
  readonly address: string
  /** Title until the feed itself has one. Default: the host of its address. */
  readonly title?: string
  readonly about?: string
  /** Address of the site. */
  readonly link?: string | undefined
}

export interface AddOptions extends Partial<SaveOptions> {
  /** The person who brings the sources in. */
  readonly personId: string | undefined
  readonly now?: Date
}

/** Sources per batch of reads and writes. */
const CHUNK = 200

/**
 * Adds sources that the crawler fetches, and returns them in the order of the argument. A feed that is known by its address stays as it
 * is: people share its source. Addresses have to differ.
 */
export async function addSources(
  { sources }: SiteData,
  feeds: readonly FeedToFetch[],
  { personId, import_id, beforeNew, now = new Date() }: AddOptions,
): Promise<SavedSource[]> {
  const saved: SavedSource[] = []
  for (let at = 0; at < feeds.length; at += CHUNK) {
    const chunk = feeds.slice(at, at + CHUNK)
    const names = chunk.map(({ address }) => ({ known_as: feedName(address) }))
    const known = await sources.byName.pageMany(names, { limit: 1 })
    const fresh = chunk.flatMap(({ address, title, about = '', link }, i) => {
      if ((known[i]?.items.length ?? 0) > 0) return []
      const id = fetchedSourceId(address)
      // Pages list sources newest first. Each source is a millisecond older than the one before, which keeps the order.
      const added = new Date(now.getTime() - at - i)
      return {
        id,
        ...titledAs(title || hostOf(address)),
        about,
        ...(link !== undefined && { link }),
        feed_link: address,
        ...(personId !== undefined && { person_id: personId }),
        ...(import_id !== undefined && { import_id }),
        known_as: [feedName(address)],
        added,
        stripe: stripeOf(id),
        next_check: added,
        failures: 0,
      }
    })
    if (fresh.length > 0) await beforeNew?.()
    // Another process may add the same feed now; the first one wins.
    const fates = await sources.insertMany(fresh, { fates: true })
    const created = new Set<string>()
    for (const [i, fate] of fates.entries()) {
      if (fate.ok) created.add((fresh[i] as { id: string }).id)
      else if (!isThere(fate.error)) throw fate.error
    }
    for (const [i, { address }] of chunk.entries()) {
      const id = known[i]?.items[0]?.id ?? fetchedSourceId(address)
      saved.push({ id, created: created.has(id) })
    }
  }
  return saved
}

/** Ids are digests, so their last digit spreads sources over the stripes. */
function stripeOf(id: string): number {
  return Number.parseInt(id.slice(-1), 16) % SOURCE_STRIPES
}
