import { sourceId } from '../../kinds/ids.ts'
import type { Source } from '../../kinds/source.ts'
import { addressKey } from '../../text/web-link.ts'

/** Returns the name by which a fetched source is known for an address of its feed. All people share the source. */
export function feedName(address: string): string {
  return `feed ${addressKey(address)}`
}

/** Returns the id that a fetched source gets if it is added by this address. */
export function fetchedSourceId(address: string): string {
  return sourceId(feedName(address))
}

/** Largest number of names of a fetched source. */
const MAX_NAMES = 20

/** Returns the names of a fetched source with others added: the newest ones, and the name of the address that it is fetched from. */
export function withNames(
  { known_as, feed_link }: Pick<Source, 'known_as' | 'feed_link'>,
  added: readonly string[],
): string[] {
  const own = feed_link === undefined ? [] : [feedName(feed_link)]
  const others = [...known_as.filter((name) => !added.includes(name)), ...added]
  return [...others.filter((name) => !own.includes(name)).slice(own.length - MAX_NAMES), ...own]
}

export interface FileAddresses {
  readonly title: string
  readonly link?: string | undefined
  readonly feed_link?: string | undefined
  readonly person_id?: string | undefined
}

/**
 * Returns the names by which imported files of one person find their source: the address of the feed that the file names, and its
 * site. If the file does not contain the feed's address, the first name stands for all such files of its site, or of its title if there
 * is no site. The id of the source is derived from the first name. These names are the person's own: a file may claim any address, so it
 * must not write to the source that the site fetches from there.
 */
export function namesOfFile({ person_id, feed_link, link, title }: FileAddresses): string[] {
  const owner = person_id ?? 'nobody'
  const site = link === undefined ? undefined : addressKey(link)
  const names = site === undefined ? [] : [`${owner} site ${site}`]
  if (feed_link !== undefined) return [`${owner} feed ${addressKey(feed_link)}`, ...names]
  return [`${owner} files of ${site ?? `“${title}”`}`, ...names]
}
