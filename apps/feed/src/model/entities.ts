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
 * Everything on the site is an entity of one store. Each kind says which properties its entities have, and by which indexes
 * they are found. Forms and imports check what they write, so the kinds do not check it again.
 */

interface PersonProperties {
  /** Stands in the address of the page and is typed to sign in: lower case letters, digits and hyphens. */
  readonly name: string
  readonly full_name: string
  readonly bio: string
  /** 0 to 359, the colour of the avatar. */
  readonly hue: number
  readonly joined: Date
}

interface SourceProperties {
  readonly title: string
  /** What kind of thing it is, in a word or two. */
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly user_id: string | undefined
  /** See `namesOfSource`. */
  readonly known_as: readonly string[]
  /** The import that has brought it. */
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
  /** The import that has brought it. */
  readonly import_id?: string | undefined
  readonly published: Date
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

/** A file that was imported. What it has brought carries its id as `import_id`. */
interface ImportProperties {
  readonly user_id: string | undefined
  readonly title: string
  readonly format: string
  /** How many it has brought, less those that were taken out again; 0 until it has ended. */
  readonly entries: number
  readonly sources: number
  readonly imported: Date
}

/** Somebody is signed in, since when. */
interface SessionProperties {
  readonly user_id: string
  readonly signed_in: Date
  readonly notice?: Notice
}

/** What came of a form, for the page that its sender is led to. It can be loaded again, until the next one comes. */
export interface Notice {
  /** What was done, and to what. */
  readonly title: string
  readonly about: string
  readonly lines: readonly NoticeLine[]
}

export interface NoticeLine {
  readonly text: string
  readonly refused: boolean
  /** Where more is to be seen; empty for nowhere. */
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
    /** Sign-in and the addresses of people. */
    byName: { by: [{ name: 'string' }] },
    /** The list of everybody, oldest member first. */
    byTime: { by: [{ joined: 'time' }], shardOn: 'id' },
  },
})

const Source = defineKind('source', {
  schema: typed<SourceProperties>(),
  indexes: {
    byTime: { by: [{ added: 'time' }], shardOn: 'id' },
    byUser: { by: [{ user_id: { type: 'uuid', nulls: 'skip' } }, { added: 'time' }] },
    /** The source that a feed belongs to, by any of its names: a row for each of them. */
    byName: { by: [{ known_as: 'string[]' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

const Entry = defineKind('entry', {
  schema: typed<EntryProperties>(),
  indexes: {
    /**
     * The home page, newest first. No single shard could take every new entry of a busy site, so a row lives with its entry
     * (`shardOn: 'id'`) and the page asks all shards and merges.
     */
    byTime: { by: [{ published: 'time' }], shardOn: 'id' },
    /** A person's page: one shard holds all rows of a person. */
    byUser: { by: [{ user_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    bySource: { by: [{ source_id: { type: 'uuid', nulls: 'skip' } }, { published: 'time' }] },
    /** Who else shared this link. A site has it where somebody has added it: see `offeredIndexes`. */
    byLink: { by: [{ link: { type: 'string', nulls: 'skip' } }, { published: 'time' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

const Comment = defineKind('comment', {
  schema: typed<CommentProperties>(),
  indexes: { byEntry: { by: [{ entry_id: 'uuid' }, { commented: 'time' }] } },
})

const Like = defineKind('like', {
  schema: typed<LikeProperties>(),
  indexes: {
    /** With who likes it, which is all that a list shows. */
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
  /** To find sessions that are over. */
  indexes: { byUser: { by: [{ user_id: 'uuid' }, { signed_in: 'time' }] } },
})

const Setting = defineKind('setting', { schema: typed<SettingProperties>() })

const PUBLIC_KINDS: ReadonlySet<unknown> = new Set(
  [Person, Source, Entry, Comment, Like].map(({ name }) => name),
)

/** Whether an entity is one that the site shows to everybody: no session, import or setting, and nothing that it does not know. */
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

/** What the site cannot be without. */
export const siteIndexes = allIndexes.filter((index) => !isOffered(index))

/** What may be added and dropped while the site is in use: pages have what it serves for as long as it is ready. */
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
