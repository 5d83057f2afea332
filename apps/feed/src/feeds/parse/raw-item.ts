import { createHash } from 'node:crypto'
import { feedDate } from './feed-date.ts'
import { fileName, tidyMedia, type RawMedia } from './media.ts'
import { MAX_BODY_LENGTH, MAX_TITLE_LENGTH, MAX_ITEMS, MAX_TAGS, type FeedItem } from './parsed-feed.ts'
import { plainTextOf, tidyLine, tidyText } from '../../text/plain-text.ts'
import { webLink } from '../../text/web-link.ts'

/** Text of a feed. In doubt it is HTML, because feeds often do not declare their markup. */
export interface RawText {
  readonly value: string | undefined
  readonly html: boolean
}

/** An item as its format has it. In each list, the preferred value is first. */
export interface RawItem {
  readonly ids: readonly (string | undefined)[]
  readonly title: RawText
  readonly bodies: readonly RawText[]
  readonly links: readonly (string | undefined)[]
  readonly author: string | undefined
  readonly dates: readonly (string | undefined)[]
  readonly media: readonly RawMedia[]
  readonly tags: readonly (string | undefined)[]
}

export interface TidyItems {
  readonly items: readonly FeedItem[]
  readonly notes: readonly string[]
}

/** Converts raw items to feed items. Repeated items, empty items and those beyond the limit are left out, with notes. */
export function tidyItems(rawItems: readonly RawItem[], base: string | undefined, now: Date): TidyItems {
  const kept = rawItems.slice(0, MAX_ITEMS)
  const tidied = kept.map((raw) => tidyItem(raw, base, now)).filter((item) => item !== undefined)
  const empty = kept.length - tidied.length
  const distinct = new Map(tidied.map((item) => [item.digest, item]))
  const items = named([...distinct.values()])
  const repeats = tidied.length - items.length
  const beyond = rawItems.length - MAX_ITEMS
  const notes: string[] = []
  if (repeats > 0)
    notes.push(`${repeats} ${repeats === 1 ? 'item was' : 'items were'} in the file more than once.`)
  if (empty > 0)
    notes.push(`${empty} ${empty === 1 ? 'item has' : 'items have'} neither a title nor any text nor a link.`)
  if (beyond > 0) notes.push(`Only the first ${MAX_ITEMS} items are kept; ${beyond} more were left out.`)
  return { items, notes }
}

/** An item with the names that its feed gives it. */
interface NamedItem {
  readonly item: Omit<FeedItem, 'guid'>
  /** The id that the feed gives it, and its link. */
  readonly names: readonly string[]
  /** The same for equal items of a file. */
  readonly digest: string
}

/**
 * Gives each item its guid: the first of its names that no other item of the file has, or else its digest. Some feeds write one id or one
 * link at all items, which names none of them.
 */
function named(items: readonly NamedItem[]): FeedItem[] {
  const uses = new Map<string, number>()
  for (const { names } of items) for (const name of new Set(names)) uses.set(name, (uses.get(name) ?? 0) + 1)
  return items.map(({ item, names, digest }) => ({
    ...item,
    guid: names.find((name) => uses.get(name) === 1) ?? digest,
  }))
}

function tidyItem(raw: RawItem, base: string | undefined, now: Date): NamedItem | undefined {
  const link = firstOf(raw.links, (text) => webLink(text, base))
  const givenTitle = tidyLine(toText(raw.title, MAX_TITLE_LENGTH * 2) ?? '', MAX_TITLE_LENGTH)
  const bodies = givenTitle === '' ? raw.bodies : raw.bodies.filter((text) => !isLoneLink(text))
  const body = firstOf(bodies, (text) => toText(text, MAX_BODY_LENGTH)) ?? ''
  const media = tidyMedia(raw.media, base)
  const title = givenTitle || tidyLine(body, 120) || link || media.map(({ url }) => fileName(url))[0]
  if (title === undefined || title === '') return undefined
  const published = firstOf(raw.dates, (text) => feedDate(text, now))
  const id = firstOf(raw.ids, (text) => text?.trim().toWellFormed() || undefined)
  const item = {
    title,
    // A title that was made of the body replaces it, unless the body is longer.
    body: body === '' || body === title ? undefined : body,
    // An item may be nothing but a file.
    link: link ?? media[0]?.url,
    author: tidyLine(raw.author ?? '', 80) || undefined,
    published,
    media,
    tags: tidyTags(raw.tags),
  }
  const names = [id, link, media[0]?.url].filter((name) => name !== undefined)
  // Without a name, an item keeps the digest that earlier versions of the site have made.
  const parts = names.length === 0 ? [] : [...names, ...media.map(({ url }) => url)]
  return { item, names, digest: digestOf([title, body, ...raw.dates, ...parts]) }
}

/** Returns true for a text such as a link “Comments”, which says nothing without its address. */
function isLoneLink({ value = '', html }: RawText): boolean {
  return html && /^(?:<p>\s*)?<a\s[^>]*>[^<]{0,30}<\/a>(?:\s*<\/p>)?$/i.test(value.trim())
}

/** A category that lists tags, in place of one tag. A tag may have a comma itself, as in “Washington, D.C.”. */
const LIST = /,[^\s\d]|,.*,/

function tidyTags(tags: RawItem['tags']): readonly string[] {
  const each = tags.flatMap((tag = '') => (LIST.test(tag) ? tag.split(',') : [tag]))
  const tidied = each.map((tag) => tidyLine(tag, 60)).filter((tag) => tag !== '')
  return [...new Set(tidied)].slice(0, MAX_TAGS)
}

export function toText(text: RawText | undefined, limit: number): string | undefined {
  if (text?.value === undefined) return undefined
  return (text.html ? plainTextOf(text.value, limit) : tidyText(text.value, limit)) || undefined
}

/** Returns the result of the first choice for which `take` returns a value. */
export function firstOf<From, To>(
  choices: readonly From[],
  take: (choice: From) => To | undefined,
): To | undefined {
  for (const choice of choices) {
    const taken = take(choice)
    if (taken !== undefined) return taken
  }
  return undefined
}

function digestOf(parts: readonly (string | undefined)[]): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`
}
