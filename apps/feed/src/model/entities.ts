import {
  defineKind,
  indexesOf,
  typed,
  type Bag,
  type DataStore,
  type IndexDefinition,
  type Item,
} from 'looseleaf'

/*
 * All data of the site is in entities of one store. Each kind declares the properties and indexes of its entities. The kinds do not
 * validate values, because forms and imports do.
 */

interface PersonProperties {
  /** Name in addresses and for signing in: lower case letters, digits and hyphens. */
  readonly name: string
  readonly full_name: string
  readonly bio: string
  /** Hue of the avatar, from 0 to 359. */
  readonly hue: number
  readonly joined: Date
}

interface SourceProperties {
  readonly title: string
  /** Description in a few words. */
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly user_id: string | undefined
  /** See `namesOfSource`. */
  readonly known_as: readonly string[]
  /** The import that created it. */
  readonly import_id?: string | undefined
  readonly added: Date
}

interface EntryProperties {
  readonly title: string
  readonly body?: string | undefined
  readonly link: string | undefined
  readonly author?: string | undefined
  readonly user_id: string | undefined
  readonly source_id?: string | undefined
  /** The import that created it. */
  readonly import_id?: string | undefined
  /** See `UNDATED_BEFORE`. */
  readonly published: Date
  readonly media?: readonly { readonly url: string; readonly type: 'image' | 'audio' | 'video' | 'file' }[]
  readonly tags?: readonly string[]
}

interface CommentProperties {
  readonly entry_id: string
  readonly user_id: string
  readonly text: string
  readonly commented: Date
}

interface LikeProperties {
  readonly entry_id: string
  readonly user_id: string
  readonly liked: Date
}

/** An imported file. Entities that it created have its id as `import_id`. */
interface ImportProperties {
  readonly user_id: string | undefined
  readonly title: string
  readonly format: string
  /** Numbers of entities that it created and that were not deleted by an undo. Both are 0 until the import has ended. */
  readonly entries: number
  readonly sources: number
  readonly imported: Date
}

/** A signed-in browser. */
interface SessionProperties {
  readonly user_id: string
  readonly signed_in: Date
  readonly notice?: Notice
}

/** Result of a form, for the page that its sender is redirected to. It stays with the session until the next notice replaces it. */
export interface Notice {
  /** The act, and the thing that it was done to. */
  readonly title: string
  readonly about: string
  readonly lines: readonly NoticeLine[]
}

export interface NoticeLine {
  readonly text: string
  readonly refused: boolean
  /** Address of a page with more about it; empty for no link. */
  readonly href: string
  readonly label: string
}

interface SettingProperties {
  readonly name: string
  readonly value: string
}

const Person = defineKind('person', {
  schema: typed<PersonProperties>(),
  indexes: {
    /** Finds a person by the name in an address, or at sign-in. */
    byName: { by: [{ name: 'string' }] },
    /** Lists all people, oldest member first. */
    byTime: { by: [{ joined: 'time' }], shardOn: 'id' },
  },
})

const Source = defineKind('source', {
  schema: typed<SourceProperties>(),
  indexes: {
    byTime: { by: [{ added: 'time' }], shardOn: 'id' },
    byUser: { by: [{ user_id: { type: 'uuid', nulls: 'skip' } }, { added: 'time' }] },
    /** Finds the source of a feed by any of its names. There is a row per name. */
    byName: { by: [{ known_as: 'string[]' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

const Entry = defineKind('entry', {
  schema: typed<EntryProperties>(),
  indexes: {
    /**
     * Serves the home page, newest first. A single shard could not take all new entries of a busy site. So each row is on the shard of
     * its entry (`shardOn: 'id'`), and the page merges rows of all shards.
     */
    byTime: { by: [{ published: 'time' }], shardOn: 'id' },
    /** Serves a person's page. All rows of a person are on one shard. */
    byUser: { by: [{ user_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    bySource: { by: [{ source_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    /** Finds the entries that share a link. Only some sites have it: see `offeredIndexes`. */
    byLink: { by: [{ link: { type: 'string', nulls: 'skip' } }, { published: 'time' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

const Comment = defineKind('comment', {
  schema: typed<CommentProperties>(),
  /** Comments and likes are in the bucket of their entry, with the rows of `byEntry`. */
  near: 'entry_id',
  indexes: { byEntry: { by: [{ entry_id: 'uuid' }, { commented: 'time' }] } },
})

const Like = defineKind('like', {
  schema: typed<LikeProperties>(),
  near: 'entry_id',
  indexes: {
    /** Covers `user_id`, which is all that a list shows of a like. */
    byEntry: { by: [{ entry_id: 'uuid' }, { liked: 'time' }], include: ['user_id'] },
    byUser: { by: [{ user_id: 'uuid' }, { liked: 'time' }] },
  },
})

const Import = defineKind('import', {
  schema: typed<ImportProperties>(),
  indexes: { byUser: { by: [{ user_id: { type: 'uuid', nulls: 'skip' } }, { imported: 'time' }] } },
})

const Session = defineKind('session', {
  schema: typed<SessionProperties>(),
  near: 'user_id',
  /** Finds expired sessions. */
  indexes: { byUser: { by: [{ user_id: 'uuid' }, { signed_in: 'time' }] } },
})

const Setting = defineKind('setting', { schema: typed<SettingProperties>() })

const PUBLIC_KINDS: ReadonlySet<unknown> = new Set(
  [Person, Source, Entry, Comment, Like].map(({ name }) => name),
)

/** Returns true for entities that the site shows to everybody. Sessions, imports, settings and unknown kinds are private. */
export function isPublic(bag: Bag): boolean {
  return PUBLIC_KINDS.has(bag['_kind'])
}

export type Person = Item<PersonProperties>
export type Source = Item<SourceProperties>
export type Entry = Item<EntryProperties>
export type Comment = Item<CommentProperties>
export type Like = Item<LikeProperties>
export type Import = Item<ImportProperties>

const allIndexes = indexesOf(Person, Source, Entry, Comment, Like, Import, Session)

const isOffered = ({ name }: IndexDefinition): boolean => name === 'entry_by_link'

/** Indexes that the site needs. */
export const siteIndexes = allIndexes.filter((index) => !isOffered(index))

/** Indexes that may be added and dropped while the site runs. Pages show the parts that need one only while it is ready. */
export const offeredIndexes = allIndexes.filter(isOffered)

/** The collections of the site's entities. */
export type SiteData = ReturnType<typeof dataOf>

export function dataOf(store: DataStore) {
  return {
    people: Person.in(store),
    sources: Source.in(store),
    entries: Entry.in(store),
    comments: Comment.in(store),
    likes: Like.in(store),
    imports: Import.in(store),
    sessions: Session.in(store),
    settings: Setting.in(store),
  }
}
