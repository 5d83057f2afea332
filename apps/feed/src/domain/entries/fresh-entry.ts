import { linkId, type Entry, type MediaKind } from '../../kinds/entry.ts'
import { foundBy } from '../search/found-by.ts'
import { addressKey } from '../../text/web-link.ts'

/** Properties of a new entry that are not derived from others. */
export type EntryFacts = Pick<Entry, 'title' | 'published'> &
  Partial<
    Pick<
      Entry,
      'body' | 'link' | 'author' | 'person_id' | 'source_id' | 'import_id' | 'media' | 'tags' | 'quiet'
    >
  >

/** Completes a new entry, which the site got at `arrived`. Its channel is its source, or else its person; one of both is required. */
export function freshEntry(facts: EntryFacts, arrived: Date): Omit<Entry, 'id' | 'version'> {
  const channel_id = facts.source_id ?? facts.person_id
  if (channel_id === undefined) throw new TypeError('An entry has a source or a person.')
  return {
    ...facts,
    ...linkedAs(facts),
    ...foundBy(facts),
    channel_id,
    publisher_id: channel_id,
    arrived,
    bumped: arrived,
    comments: 0,
    likes: 0,
    quiet: facts.quiet ?? false,
  }
}

/** Returns the properties of an entry that are derived from its link and its media. */
export function linkedAs({ link, media }: Pick<EntryFacts, 'link' | 'media'>): {
  readonly link_key: string | undefined
  readonly media_kind: MediaKind
} {
  return {
    link_key: link === undefined ? undefined : linkId(addressKey(link)),
    media_kind: mediaKindOf(link, media),
  }
}

function mediaKindOf(link: string | undefined, media: EntryFacts['media'] = []): MediaKind {
  for (const { type } of media) if (type !== 'file') return type
  return link === undefined && media.length === 0 ? 'text' : 'link'
}
