import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** Number of stripes of the sources that are due. Each stripe is on one shard, so that fetching is shared by all of them. */
export const SOURCE_STRIPES = 16

const sourceProperties = z.object({
  title: z.string(),
  /** Words of the title, by which a search finds the source: see `titledAs`. */
  title_terms: z.array(z.string()).readonly().optional(),
  /** Description in a few words. */
  about: z.string(),
  link: z.string().optional(),
  /** Address that the feed is fetched from. */
  feed_link: z.string().optional(),
  /** The person who brought the source in first. */
  person_id: z.string().optional(),
  /** Names of known addresses of a source, of a fetched one the newest: see `source-names.ts`. */
  known_as: z.array(z.string()).readonly(),
  /** The import that created it. */
  import_id: z.string().optional(),
  added: z.date(),

  /*
   * Fetching. Sources of imported files and of the sample are not fetched, and have none of these properties.
   */
  /** Stripe of a fetched source, from 0 to 15. */
  stripe: z.int().optional(),
  /** Time of the next fetch; during a fetch the end of its lease. Absent for a source that is not fetched any more. */
  next_check: z.date().optional(),
  /** End of the lease of the process that fetches the source now. */
  leased_until: z.date().optional(),
  /** No fetch takes place before this time, because the server has asked for it. */
  wait_until: z.date().optional(),
  /** Time between two fetches in milliseconds, by the number of items. */
  interval_ms: z.number().optional(),
  /** Items per week, if the feed's items have times. */
  per_week: z.number().optional(),
  /** Headers of the last body, as the server sent them. */
  etag: z.string().optional(),
  last_modified: z.string().optional(),
  /** Digest of the last body. */
  body_hash: z.string().optional(),
  /** Time of the last fetch, and of the last one that brought a feed or found it unchanged. */
  checked: z.date().optional(),
  fetched: z.date().optional(),
  /** Beginning of the day for which new entries are counted, and their number, without those of the first fetch. */
  quota: z.object({ since: z.date(), used: z.int().nonnegative() }).optional(),
  /** Number of failed fetches in a row. */
  failures: z.int().optional(),
  /** Why fetches fail, and since when. Status of the last response, if there was one. */
  problem: z.object({ text: z.string(), since: z.date(), status: z.int().optional() }).optional(),
  /** Address that permanent redirects lead to, and the number of fetches in a row that they did. */
  moved: z.object({ to: z.string(), times: z.int() }).optional(),
  /** Source of the same feed, which is fetched in place of this one. */
  same_as: z.string().optional(),
})

export const Source = defineKind('source', {
  schema: sourceProperties,
  indexes: {
    byTime: { by: [{ added: 'time' }], shardOn: 'id' },
    /** Finds the source of a feed by any of its names. There is a row per name. */
    byName: { by: [{ known_as: 'string[]' }] },
    byTitleTerm: { by: [{ title_terms: { type: 'string[]', nulls: 'skip' } }, { added: 'time' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
    /** Finds the sources to fetch. */
    byDue: {
      by: [{ stripe: { type: 'integer', nulls: 'skip' } }, { next_check: { type: 'time', nulls: 'skip' } }],
    },
  },
})

export type Source = ItemOf<typeof Source>
