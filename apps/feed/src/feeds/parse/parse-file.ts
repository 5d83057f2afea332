import { detectAtomFeed, detectRdfFeed, detectRssFeed, parseOpml } from 'feedsmith'
import { checkJsonLimits, checkXmlLimits } from './check-limits.ts'
import { closeElements } from './repair/close-elements.ts'
import { decodeText } from './decode-text.ts'
import { BeyondLimit } from './limits.ts'
import { collectSubscriptions } from '../opml/opml-subscriptions.ts'
import {
  MAX_TITLE_LENGTH,
  MAX_SUBSCRIPTIONS,
  type ParsedFeed,
  type ParsedFile,
  type RefusedFile,
} from './parsed-feed.ts'
import { tidyLine } from '../../text/plain-text.ts'
import { firstOf, tidyItems, toText } from './raw-item.ts'
import { readAtom, readJson, readRdf, readRss, type RawFeed } from './read-formats.ts'
import { salvageItems } from './repair/salvage-items.ts'
import { deletedIn } from './tombstones.ts'
import { plainSource } from './repair/plain-source.ts'
import { feedDate } from './feed-date.ts'
import { webLink } from '../../text/web-link.ts'
import { resolveXmlBase } from './xml-base.ts'

export interface ParseFileOptions {
  /** Name of the file, the title of a feed without one. */
  readonly name: string
  readonly now: Date
  /** Address that the file was fetched from, to which its relative links refer. */
  readonly address?: string | undefined
}

/** Parses a feed or an OPML file. Never throws: other or too broken files return `refused` with a reason. */
export function parseFile(bytes: Uint8Array, options: ParseFileOptions): ParsedFile {
  if (bytes.length === 0) return refused('The file is empty.')
  const { text } = decodeText(bytes)
  const source = text.replace(/^\ufeff/, '')
  if (source.includes('\u0000')) return refused('This is not a text file.')
  try {
    if (/<opml[\s>]/i.test(source.slice(0, 5000))) return readOpml(source, options)
    return readFeed(source, options)
  } catch (error) {
    if (error instanceof BeyondLimit) return refused(error.message)
    return refused(`The file could not be read: ${reasonOf(error)}.`)
  }
}

function readFeed(text: string, options: ParseFileOptions): ParsedFile {
  const format = formatOf(plainSource(text))
  if (format === undefined) return refused(`The file contains no feed${guessOf(text)}.`)
  if (format === 'JSON Feed') return readJsonFeed(text, options)
  const isTruncated = checkXmlLimits(text)
  const source = resolveXmlBase(plainSource(text))
  const whole = (): RawFeed | undefined => attempt(() => READERS[format](source))
  // The incomplete last item of a truncated file is left out, even if a reader would accept it.
  const first = isTruncated ? undefined : whole()
  if (first !== undefined && first.items.length > 0)
    return tidyFeed(withDeleted(first, source), format, [], options)
  const salvaged = salvageItems(source)
  const saved = salvaged && attempt(() => READERS[format](salvaged.withoutHead))
  if (salvaged === undefined || saved === undefined || saved.items.length === 0) {
    const raw = first ?? whole()
    if (raw !== undefined && (raw.items.length > 0 || !isTruncated))
      return tidyFeed(withDeleted(raw, source), format, isTruncated ? [TRUNCATED] : [], options)
    return refused(
      isTruncated
        ? 'The file is truncated within its first item.'
        : 'The file is not well-formed, and no items were found in it.',
    )
  }
  const head = attempt(() => READERS[format](salvaged.withHead)) ?? first ?? whole() ?? saved
  const note = isTruncated ? TRUNCATED : 'The file is not well-formed, but its items were found.'
  return tidyFeed({ ...head, items: saved.items }, format, [note], options)
}

const TRUNCATED = 'The file is truncated; its complete items were imported.'

/** Adds the items that an Atom feed says it has deleted, which its parser leaves out. */
function withDeleted(raw: RawFeed, source: string): RawFeed & { readonly deleted: readonly string[] } {
  return { ...raw, deleted: deletedIn(source) }
}

function readJsonFeed(source: string, options: ParseFileOptions): ParsedFile {
  const isTruncated = checkJsonLimits(source)
  if (isTruncated) return refused('The file is truncated, and JSON cannot be read in part.')
  const raw = attempt(() => readJson(source))
  return raw === undefined
    ? refused('The file is not well-formed JSON.')
    : tidyFeed(raw, 'JSON Feed', [], options)
}

/** Returns undefined if a reader throws. Its message is for programmers and not for the person who imports. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function tidyFeed(
  raw: RawFeed & { readonly deleted?: readonly string[] },
  format: ParsedFeed['format'],
  notes: string[],
  options: ParseFileOptions,
): ParsedFile {
  const fetched = webLink(options.address)
  const feedLink = webLink(raw.feedLink, fetched ?? firstOf(raw.links, (text) => webLink(text))) ?? fetched
  const link = firstOf(raw.links, (text) => webLink(text, feedLink))
  // Atom's relative links refer to the document. The other formats do not define a base, and feed readers use the site's address.
  const base = format === 'Atom' ? (feedLink ?? link) : (link ?? feedLink)
  const tidy = tidyItems(raw.items, base, options.now)
  const { deleted = [] } = raw
  if (tidy.items.length === 0 && deleted.length === 0) {
    const feed = format === 'JSON Feed' ? format : `${format} feed`
    const reason = [`The ${feed} has no items that could be shown.`, ...tidy.notes].join(' ')
    return { ...refused(reason), ...(raw.items.length === 0 && { isEmpty: true as const }) }
  }
  return {
    type: 'feed',
    format,
    title: toText(raw.title, 120)?.replace(/\s+/g, ' ') ?? options.name,
    about: toText(raw.about, 300) ?? '',
    link,
    feedLink,
    published: firstOf(raw.dates, (text) => feedDate(text, options.now)),
    ...(raw.ttl !== undefined && raw.ttl > 0 && { ttlMs: raw.ttl * 60_000 }),
    items: tidy.items,
    deleted,
    notes: [...notes, ...tidy.notes],
  }
}

const READERS = { RSS: readRss, Atom: readAtom, RDF: readRdf }

function formatOf(source: string): ParsedFeed['format'] | undefined {
  if (detectRssFeed(source)) return 'RSS'
  if (detectAtomFeed(source)) return 'Atom'
  if (detectRdfFeed(source)) return 'RDF'
  return /^\s*\{/.test(source) && /"version"\s*:\s*"https?:\\?\/\\?\/jsonfeed\.org/.test(source)
    ? 'JSON Feed'
    : undefined
}

function readOpml(source: string, options: ParseFileOptions): ParsedFile {
  const isTruncated = checkXmlLimits(source)
  const opml = attempt(() => parseOpml(isTruncated ? closeElements(source) : source))
  if (opml === undefined && !isTruncated) return refused('The OPML file is not well-formed.')
  const { subscriptions, others, unusable } = collectSubscriptions(opml?.body?.outlines ?? [])
  if (isTruncated && subscriptions.length === 0)
    return refused('The file is truncated before its first feed.')
  const notes = isTruncated ? [TRUNCATED] : []
  if (others > 0) notes.push(`${others} ${others === 1 ? 'line names' : 'lines name'} no feed.`)
  if (unusable > 0)
    notes.push(`${unusable} ${unusable === 1 ? 'feed has' : 'feeds have'} an address that is not on the web.`)
  if (subscriptions.length === 0) return refused(['The OPML file lists no feeds.', ...notes].join(' '))
  const beyond = subscriptions.length - MAX_SUBSCRIPTIONS
  if (beyond > 0)
    notes.push(`Only the first ${MAX_SUBSCRIPTIONS} feeds are kept; ${beyond} more were left out.`)
  return {
    type: 'opml',
    format: 'OPML',
    title: tidyLine(opml?.head?.title ?? '', MAX_TITLE_LENGTH) || options.name,
    subscriptions: subscriptions.slice(0, MAX_SUBSCRIPTIONS),
    notes,
  }
}

function guessOf(source: string): string {
  if (/<(?:!doctype\s+html|html|body|p|div|a|img|h[1-6])[\s>]/i.test(source.slice(0, 5000)))
    return ': it looks like a piece of a web page'
  if (/^\s*[[{]/.test(source)) return ': it looks like JSON, but not like a JSON Feed'
  return ': it is neither RSS, Atom, RDF nor JSON Feed'
}

/** Returns the first line of a parser's message. It is shown to people and may quote the file, so it is cut to 120 characters. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? (error.message.split('\n')[0] as string) : 'unknown reason'
  return message.slice(0, 120).toWellFormed().replace(/\.$/, '')
}

function refused(reason: string): RefusedFile {
  return { type: 'refused', reason }
}
