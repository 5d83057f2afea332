import { unset, type Changes } from 'looseleaf'
import { addressKey } from '../import/web-link.ts'
import type { SiteData, Source } from './entities.ts'
import { sourceId } from './ids.ts'

export interface NewSource {
  readonly title: string
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly user_id: string | undefined
}

export interface SaveOptions {
  /** Whether titles are those of the feeds themselves, which replace what a list of subscriptions called them. */
  readonly ownTitles: boolean
  /** Goes into sources that are new. */
  readonly import_id: string
  /** Awaited before a source is made. */
  readonly beforeNew: () => Promise<unknown>
}

export interface SavedSource {
  readonly id: string
  readonly created: boolean
}

/** Sources that are looked up and written together. */
const CHUNK = 200

/**
 * What a source is known as, to one person: by the address of its feed; by its site; and, where a file says no address
 * of its own, as what files of that site (or at least of that title) belong to. The first one names it for ever.
 */
export function namesOfSource({ user_id, feed_link, link, title }: Omit<NewSource, 'about'>): string[] {
  const owner = user_id ?? 'nobody'
  const site = link === undefined ? undefined : addressKey(link)
  const names = site === undefined ? [] : [`${owner} site ${site}`]
  if (feed_link !== undefined) return [`${owner} feed ${addressKey(feed_link)}`, ...names]
  return [`${owner} files of ${site ?? `“${title}”`}`, ...names]
}

/** Makes sources, or brings those that are there up to date, and answers in their order. Their names have to differ. */
export async function saveSources(
  { sources: collection }: SiteData,
  sources: readonly NewSource[],
  options: SaveOptions,
): Promise<SavedSource[]> {
  const saved: SavedSource[] = []
  const began = Date.now()
  /** Two of one list are never the same source. */
  const taken = new Set<string>()
  for (let at = 0; at < sources.length; at += CHUNK) {
    const chunk = sources.slice(at, at + CHUNK)
    const found = await Promise.all(chunk.map((source) => findSource(collection, source, taken)))
    const fresh: Omit<Source, 'version'>[] = []
    const changed: Promise<unknown>[] = []
    for (const [i, source] of chunk.entries()) {
      const candidate = found[i]
      const known = candidate === undefined || taken.has(candidate.id) ? undefined : candidate
      const names = namesOfSource(source)
      const id = known?.id ?? sourceId(names[0] as string)
      taken.add(id)
      saved.push({ id, created: known === undefined })
      if (known === undefined) {
        const { import_id } = options
        // Lists have the newest first, and so those of one file in its order.
        const added = new Date(began - at - i)
        fresh.push({ id, ...source, known_as: names, import_id, added })
      } else {
        const change = changeOf(known, source, names, options.ownTitles)
        if (change !== undefined) changed.push(collection.update(id, change))
      }
    }
    if (fresh.length > 0) await options.beforeNew()
    await collection.putMany(fresh)
    await Promise.all(changed)
  }
  return saved
}

/** The source that a feed or a subscription belongs to, whatever scheme its address has now. */
async function findSource(
  collection: SiteData['sources'],
  source: NewSource,
  taken: ReadonlySet<string>,
): Promise<Source | undefined> {
  const [name, site] = namesOfSource(source)
  const [own] = await collection.byName.all({ known_as: name as string })
  if (own !== undefined || site === undefined) return own
  const sameSite = (await collection.byName.all({ known_as: site })).filter(({ id }) => !taken.has(id))
  // A site has many feeds. One that was known by its site alone may be this; one with another address is not.
  if (source.feed_link !== undefined) return sameSite.find(({ feed_link }) => feed_link === undefined)
  return sameSite.length === 1 ? sameSite[0] : undefined
}

/** What a source gains from what was just read of it; undefined when it is nothing. */
function changeOf(
  known: Source,
  source: NewSource,
  names: readonly string[],
  ownTitle: boolean,
): Changes<Omit<Source, 'id' | 'version'>> | undefined {
  // A list of subscriptions may know less of a source than its own feed does.
  const change = {
    title: ownTitle ? source.title : known.title,
    about: source.about || known.about,
    link: source.link ?? known.link,
    feed_link: source.feed_link ?? known.feed_link,
    known_as: [...new Set([...known.known_as, ...names])],
  }
  const isSame =
    change.title === known.title &&
    change.about === known.about &&
    change.link === known.link &&
    change.feed_link === known.feed_link &&
    change.known_as.length === known.known_as.length
  return isSame ? undefined : { ...change, link: change.link ?? unset, feed_link: change.feed_link ?? unset }
}
