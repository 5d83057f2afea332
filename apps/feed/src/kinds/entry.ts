import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** Kinds of media that home pages filter by. */
export const MEDIA_KINDS = ['text', 'link', 'image', 'audio', 'video'] as const

export type MediaKind = (typeof MEDIA_KINDS)[number]

const schema = z.object({
  title: z.string(),
  body: z.string().optional(),
  link: z.string().optional(),
  /** Id that is derived from the link: equal for links to the same page. See `linkKeyOf`. */
  link_key: z.string().optional(),
  author: z.string().optional(),
  person_id: z.string().optional(),
  source_id: z.string().optional(),
  /** The import that created it. */
  import_id: z.string().optional(),
  /** Channel that people follow to get it: its source, or else the person who wrote it. */
  channel_id: z.string(),
  /** The same, for lists of the channel and for searches. Absent once it is removed, so that they do not have it. */
  publisher_id: z.string().optional(),
  /**
   * Time by its feed, but not after its arrival or the last change of its text or link; for a message that of its form. See
   * `UNDATED_BEFORE`.
   */
  published: z.date(),
  /** Time at which the site got it. Home pages order entries by it. */
  arrived: z.date(),
  /** Time of the last comment, or of arrival. */
  bumped: z.date(),
  /** Numbers of its comments and likes. */
  comments: z.int().nonnegative(),
  likes: z.int().nonnegative(),
  media: z
    .array(z.object({ url: z.string(), type: z.enum(['image', 'audio', 'video', 'file']) }))
    .readonly()
    .optional(),
  media_kind: z.enum(MEDIA_KINDS),
  tags: z.array(z.string()).readonly().optional(),
  /** Words and folded tags by which a search finds it: see `foundBy`. */
  terms: z.array(z.string()).readonly().optional(),
  tag_keys: z.array(z.string()).readonly().optional(),
  /** Time of the last edit, by its author or its source. */
  edited: z.date().optional(),
  /** Set once the author has removed it: it has no content then, and only its comments stay. */
  removed: z.object({ by: z.string(), at: z.date() }).optional(),
  /** True for all but the newest entries of a source's first fetch, which are never delivered to home pages. */
  quiet: z.boolean(),
})

export const Entry = defineKind('entry', {
  schema,
  indexes: {
    /**
     * Serves the public page, newest first. A single shard could not take all new entries of a busy site. So each row is on the shard of
     * its entry (`shardOn: 'id'`), and the page merges rows of all shards.
     */
    byTime: { by: [{ published: 'time' }], shardOn: 'id' },
    /**
     * These three serve searches, alone or together: after their first property they have the same one. An entry has up to 60 terms. Their
     * rows are on its own shard (`shardOn: 'id'`), so that a write of an entry reaches one shard for them; a search asks all shards.
     */
    byTerm: { by: [{ terms: { type: 'string[]', nulls: 'skip' } }, { published: 'time' }], shardOn: 'id' },
    byTag: { by: [{ tag_keys: { type: 'string[]', nulls: 'skip' } }, { published: 'time' }] },
    /**
     * Serves the pages of sources and people, too. All rows of a channel are on one shard. A person's page merges the person's messages
     * and the entries of the sources that the person publishes through.
     */
    byPublisher: { by: [{ publisher_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    /** Has all that a home page needs of a channel that is read at each visit, so that the page reads only the entries that it shows. */
    byChannel: {
      by: [{ channel_id: 'uuid' }, { arrived: 'time' }],
      include: ['bumped', 'media_kind', 'link_key', 'quiet'],
    },
    /** Finds the entries that share a link. Only some sites have it: see `offeredIndexes`. */
    byLink: { by: [{ link_key: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    /** Finds the entry of an item whose guid has changed. */
    bySourceLink: {
      by: [{ source_id: { type: 'uuid', nulls: 'skip' } }, { link_key: { type: 'uuid', nulls: 'skip' } }],
    },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

export type Entry = ItemOf<typeof Entry>

/** Returns the id of a link's address without its scheme, as `addressKey` gives it. */
export function linkId(addressKey: string): string {
  return deriveId('link', addressKey)
}
