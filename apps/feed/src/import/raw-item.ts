import { createHash } from 'node:crypto'
import { feedDate } from './feed-date.ts'
import { MAX_BODY_LENGTH, MAX_TITLE_LENGTH, MAX_ITEMS, type FeedItem } from './parsed-feed.ts'
import { plainTextOf, tidyLine, tidyText } from './plain-text.ts'
import { webLink } from './web-link.ts'

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
}

export interface TidyItems {
  readonly items: readonly FeedItem[]
  readonly notes: readonly string[]
}

/** Converts raw items to feed items. Repeated items, empty items and those beyond the limit are left out, with notes. */
export function tidyItems(rawItems: readonly RawItem[], base: string | undefined, now: Date): TidyItems {
  const items = new Map<string, FeedItem>()
  let repeats = 0
  let empty = 0
  for (const raw of rawItems.slice(0, MAX_ITEMS)) {
    const item = tidyItem(raw, base, now)
    if (item === undefined) empty++
    else if (items.has(item.guid)) repeats++
    else items.set(item.guid, item)
  }
  const beyond = rawItems.length - MAX_ITEMS
  const notes: string[] = []
  if (repeats > 0)
    notes.push(`${repeats} ${repeats === 1 ? 'item was' : 'items were'} in the file more than once.`)
  if (empty > 0)
    notes.push(`${empty} ${empty === 1 ? 'item has' : 'items have'} neither a title nor any text nor a link.`)
  if (beyond > 0) notes.push(`Only the first ${MAX_ITEMS} items are kept; ${beyond} more were left out.`)
  return { items: [...items.values()], notes }
}

function tidyItem(raw: RawItem, base: string | undefined, now: Date): FeedItem | undefined {
  const link = firstOf(raw.links, (text) => webLink(text, base))
  const body = firstOf(raw.bodies, (text) => toText(text, MAX_BODY_LENGTH)) ?? ''
  const givenTitle = tidyLine(toText(raw.title, MAX_TITLE_LENGTH * 2) ?? '', MAX_TITLE_LENGTH)
  const title = givenTitle || tidyLine(body, 120) || link
  if (title === undefined || title === '') return undefined
  const published = firstOf(raw.dates, (text) => feedDate(text, now))
  const id = firstOf(raw.ids, (text) => text?.trim() || undefined)
  return {
    guid: id ?? link ?? digestOf([title, body, ...raw.dates]),
    title,
    // A title that was made of the body replaces it, unless the body is longer.
    body: body === '' || body === title ? undefined : body,
    link,
    author: tidyLine(raw.author ?? '', 80) || undefined,
    published,
  }
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
