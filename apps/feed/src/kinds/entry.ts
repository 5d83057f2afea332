import { defineKind, typed, type Item } from 'looseleaf'

interface EntryProperties {
  readonly title: string
  readonly body?: string | undefined
  readonly link: string | undefined
  readonly author?: string | undefined
  readonly person_id: string | undefined
  readonly source_id?: string | undefined
  /** The import that created it. */
  readonly import_id?: string | undefined
  /** See `UNDATED_BEFORE`. */
  readonly published: Date
  readonly media?: readonly { readonly url: string; readonly type: 'image' | 'audio' | 'video' | 'file' }[]
  readonly tags?: readonly string[]
}

export const Entry = defineKind('entry', {
  schema: typed<EntryProperties>(),
  indexes: {
    /**
     * Serves the home page, newest first. A single shard could not take all new entries of a busy site. So each row is on the shard of
     * its entry (`shardOn: 'id'`), and the page merges rows of all shards.
     */
    byTime: { by: [{ published: 'time' }], shardOn: 'id' },
    /** Serves a person's page. All rows of a person are on one shard. */
    byPerson: { by: [{ person_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    bySource: { by: [{ source_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    /** Finds the entries that share a link. Only some sites have it: see `offeredIndexes`. */
    byLink: { by: [{ link: { type: 'string', nulls: 'skip' } }, { published: 'time' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

export type Entry = Item<EntryProperties>
