import { unset, type Changes } from 'looseleaf'
import { addressKey } from '../../text/web-link.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { sourceId } from '../../kinds/ids.ts'

export interface NewSource {
  readonly title: string
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly person_id: string | undefined
}

export interface SaveOptions {
  /** True if titles come from the feeds themselves, and so replace titles from a list of subscriptions. */
  readonly ownTitles: boolean
  /** Import of new sources. */
  readonly import_id: string
  /** Awaited before new sources are written. */
  readonly beforeNew: () => Promise<unknown>
}

export interface SavedSource {
  readonly id: string
  readonly created: boolean
}

/** Sources per batch of reads and writes. */
const CHUNK = 200

/**
 * Returns the names by which imports of one person find a source: the address of its feed, and its site. If the file does not
 * contain the feed's address, the first name stands for all such files of its site, or of its title if there is no site. The id of
 * the source is derived from the first name.
 */
export function namesOfSource({ person_id, feed_link, link, title }: Omit<NewSource, 'about'>): string[] {
  const owner = person_id ?? 'nobody'
  const site = link === undefined ? undefined : addressKey(link)
  const names = site === undefined ? [] : [`${owner} site ${site}`]
  if (feed_link !== undefined) return [`${owner} feed ${addressKey(feed_link)}`, ...names]
  return [`${owner} files of ${site ?? `“${title}”`}`, ...names]
}

/** Creates sources, or updates existing ones, and returns them in the order of the argument. Their names have to differ. */
export async function saveSources(
  { sources: collection }: SiteData,
  sources: readonly NewSource[],
  options: SaveOptions,
): Promise<SavedSource[]> {
  const saved: SavedSource[] = []
  const began = Date.now()
  /** Ids that this list uses already: two items of a list are never the same source. */
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
        // Pages list sources newest first. Each source is a millisecond older than the one before, which keeps the file's order.
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

/** Finds the source of a feed or a subscription, whatever the scheme of its address. */
async function findSource(
  collection: SiteData['sources'],
  source: NewSource,
  taken: ReadonlySet<string>,
): Promise<Source | undefined> {
  const [name, site] = namesOfSource(source)
  const [known] = await collection.byName.all({ known_as: name as string })
  if (known !== undefined || site === undefined) return known
  const sameSite = (await collection.byName.all({ known_as: site })).filter(({ id }) => !taken.has(id))
  // A site may have several feeds. A source without a feed address may be this feed; one with another address is not.
  if (source.feed_link !== undefined) return sameSite.find(({ feed_link }) => feed_link === undefined)
  return sameSite.length === 1 ? sameSite[0] : undefined
}

/** Returns the properties of a source that this import changes; undefined if there are none. */
function changeOf(
  known: Source,
  source: NewSource,
  names: readonly string[],
  ownTitle: boolean,
): Changes<Omit<Source, 'id' | 'version'>> | undefined {
  // Missing values keep the stored ones, because a list of subscriptions may know less than the feed.
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
