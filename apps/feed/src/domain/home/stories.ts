import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { whileLinksAreIndexed } from '../entries/entries.ts'
import { SKIP } from '../site/partial-reads.ts'
import type { HomeRow } from './home-list.ts'

/** Largest number of entries with one link that a page looks at. */
const MAX_SHARES = 20

/** The entries of a home with one link. A home shows the first of them in its order. */
export interface Story {
  readonly first: Entry
  /** The rows of its entries, the first included. */
  readonly rows: readonly HomeRow[]
}

/**
 * Folds those entries of a page that share a link with an entry further up in the home, on this page or another. Returns the stories that the
 * page shows, in its order. Reads the entries of all links together; without the index of links each entry is a story.
 */
export async function foldByLink(
  { entries: { byLink } }: SiteData,
  entries: readonly Entry[],
  home: readonly HomeRow[],
): Promise<readonly Story[]> {
  const keys = [...new Set(entries.flatMap(({ link_key }) => link_key ?? []))]
  const pages = await whileLinksAreIndexed(byLink, [], async () =>
    keys.length === 0
      ? []
      : byLink.pageMany(
          keys.map((link_key) => ({ link_key })),
          { order: 'desc', limit: MAX_SHARES, ...SKIP },
        ),
  )
  const idsByLink = new Map(pages.map(({ items }, i) => [keys[i], items.map(({ id }) => id)]))
  const places = new Map(home.map(({ entry_id }, place) => [entry_id, place]))
  return entries.flatMap((entry) => {
    const ids = new Set([entry.id, ...(idsByLink.get(entry.link_key) ?? [])])
    const found = [...ids].flatMap((id) => places.get(id) ?? []).toSorted((a, b) => a - b)
    const rows = found.map((place) => home[place] as HomeRow)
    return rows[0]?.entry_id === entry.id ? [{ first: entry, rows }] : []
  })
}
