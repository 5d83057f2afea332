import { indexesOf, type Bag, type DataStore, type IndexDefinition } from 'looseleaf'
import { Account } from './account.ts'
import { Comment } from './comment.ts'
import { Delivery } from './delivery.ts'
import { Entry } from './entry.ts'
import { Follow } from './follow.ts'
import { Home } from './home.ts'
import { Import } from './import.ts'
import { InboxItem } from './inbox-item.ts'
import { Like } from './like.ts'
import { Person } from './person.ts'
import { PulledChannel } from './pulled-channel.ts'
import { Service } from './service.ts'
import { Session } from './session.ts'
import { Setting } from './setting.ts'
import { Source } from './source.ts'

/*
 * All data of the site is in entities of one store. Each file of this folder declares a kind: the properties and indexes of its
 * entities.
 */

const PUBLIC_KINDS: ReadonlySet<unknown> = new Set(
  [Person, Source, Entry, Comment, Like].map(({ name }) => name),
)

/** Returns true for entities that the site shows to everybody. Accounts, sessions, imports, settings and unknown kinds are private. */
export function isPublic(bag: Bag): boolean {
  return PUBLIC_KINDS.has(bag['_kind'])
}

const allIndexes = indexesOf(
  Person,
  Source,
  Entry,
  Comment,
  Like,
  Import,
  Account,
  Session,
  Follow,
  Service,
  InboxItem,
  Delivery,
)

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
    accounts: Account.in(store),
    sessions: Session.in(store),
    settings: Setting.in(store),
    follows: Follow.in(store),
    services: Service.in(store),
    inbox: InboxItem.in(store),
    deliveries: Delivery.in(store),
    homes: Home.in(store),
    pulledChannels: PulledChannel.in(store),
  }
}
