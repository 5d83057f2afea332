import type { FeedItem, ParsedFile } from '../parse/parsed-feed.ts'
import type { ExpectedFile } from './expectations.ts'

/** Returns the differences between a parsed file and its expectation, a line each; none if there are none. */
export function differencesOf(parsed: ParsedFile, expected: ExpectedFile): string[] {
  if ('refused' in expected) {
    if (parsed.type !== 'refused') return [`expected a refusal, got a file of type ${parsed.type}`]
    return parsed.reason.includes(expected.refused)
      ? []
      : [difference('reason', expected.refused, parsed.reason)]
  }
  if (parsed.type === 'refused') return [`expected a feed, got the refusal “${parsed.reason}”`]
  if (parsed.type === 'opml') return ['expected a feed, got a list of feeds']
  const found: string[] = []
  const compare = (place: string, wanted: unknown, got: unknown): void => {
    if (wanted !== got) found.push(difference(place, wanted, got))
  }
  compare('title', expected.title, parsed.title)
  compare('number of items', expected.items.length, parsed.items.length)
  for (const [i, wanted] of expected.items.entries()) {
    const item = parsed.items[i]
    if (item === undefined) break
    const got = shownItem(item)
    const place = `item ${i + 1}, `
    compare(`${place}title`, wanted.title, got.title)
    compare(`${place}link`, wanted.link, got.link)
    compare(`${place}date`, timeOf(wanted.published), timeOf(got.published))
    compare(`${place}enclosures`, wanted.enclosures.join(' '), got.enclosures.join(' '))
  }
  return found
}

/** Returns an item as an expectation has it. */
export function shownItem({ title, link, published, media }: FeedItem) {
  return {
    title,
    link: link ?? null,
    published: published?.toISOString() ?? null,
    enclosures: media.map(({ url }) => url),
  }
}

/** Times may be written with a zone, or without milliseconds. */
function timeOf(text: string | null): string {
  return text === null ? 'none' : new Date(text).toISOString()
}

function difference(place: string, wanted: unknown, got: unknown): string {
  return `${place}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`
}
