import { deriveId, type DataStore } from 'looseleaf'
import { asPerson, type Person } from './entities.ts'
import { sessionsByUser } from './indexes.ts'
import type { Reader } from './reader.ts'

/** How long somebody stays signed in, in milliseconds. */
export const SESSION_MS: number = 30 * 24 * 60 * 60 * 1000

/** Who a cookie says is signed in, and the random word that makes it this session and no other. */
export interface SessionKey {
  readonly nonce: string
  readonly userId: string
}

/** Begins a session, and ends those of the same person that are over anyway. */
export async function beginSession(store: DataStore, session: SessionKey, now: Date): Promise<void> {
  await store.put({ kind: 'session', user_id: session.userId, signed_in: now }, { id: idOfSession(session) })
  const where = { user_id: session.userId, signed_in: { lt: oldest(now) } }
  const { items } = await store.query(sessionsByUser, where, { limit: 100 })
  await Promise.all(items.map(({ id }) => store.delete(id)))
}

/** Ends a session for good: whoever has kept its cookie has nothing. */
export async function endSession(store: DataStore, session: SessionKey): Promise<void> {
  await store.delete(idOfSession(session))
}

/** Who is signed in by a session; undefined when it has ended. One statement, as both live on one shard. */
export async function personOfSession(
  reader: Reader,
  session: SessionKey,
  now: Date,
): Promise<Person | undefined> {
  const [entity, person] = await reader.getMany([idOfSession(session), session.userId])
  const began = entity?.['signed_in']
  return began instanceof Date && began > oldest(now) ? asPerson(person) : undefined
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

/** Keeps it with the session, which takes it along when it ends. */
export async function keepNotice(store: DataStore, session: SessionKey, notice: Notice): Promise<void> {
  await store.update(idOfSession(session), (bag) => ({ ...bag, notice: JSON.stringify(notice) }))
}

export async function noticeOf(reader: Reader, session: SessionKey): Promise<Notice | undefined> {
  const notice = (await reader.get(idOfSession(session)))?.['notice']
  return typeof notice === 'string' ? (JSON.parse(notice) as Notice) : undefined
}

/** Beside its person, and without the word itself. */
function idOfSession({ nonce, userId }: SessionKey): string {
  return deriveId('session', nonce, { near: userId })
}

function oldest(now: Date): Date {
  return new Date(now.getTime() - SESSION_MS)
}
