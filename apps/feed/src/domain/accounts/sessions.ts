import { deriveId } from 'looseleaf'
import { createHash, randomBytes } from 'node:crypto'
import type { Account } from '../../kinds/account.ts'
import type { Person } from '../../kinds/person.ts'
import type { Notice, Session } from '../../kinds/session.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { readThing, SKIP } from '../site/partial-reads.ts'
import { unlessGone } from '../site/unless-there.ts'

/** Lifetime of a session after its last renewal, in milliseconds. */
export const SESSION_MS: number = 30 * 24 * 60 * 60 * 1000
/** A session in use is renewed at most this often, so that a request usually writes nothing. */
const RENEW_MS = 24 * 60 * 60 * 1000

/** The secret of a session, which only the cookie of its browser has: a random nonce, and the id of the person. */
export interface SessionKey {
  readonly nonce: string
  readonly personId: string
}

/** Name of the cookie that has the signed text of a session's key. */
export const SESSION_COOKIE = 'looseleaf_session'

/** Returns the text of a key, which the cookie has with a signature. One without a person belongs to a visitor who is not signed in. */
export function textOfKey(nonce: string, personId: string | undefined): string {
  return `${nonce}.${personId ?? ''}`
}

export function newNonce(): string {
  return randomBytes(18).toString('base64url')
}

/** Returns the id of a session's entity, in the bucket of its person. The stored id does not reveal the nonce. */
export function sessionId({ nonce, personId }: SessionKey): string {
  const digest = createHash('sha256').update(nonce).digest('base64url')
  return deriveId('session', digest, { near: personId })
}

/** A session in use, with its person. */
export interface OpenSession {
  readonly session: Session
  readonly person: Person
}

/**
 * Returns the session of a key with its person; undefined if it has ended. Takes one statement, because both are on one shard. Rejects with
 * `Unreadable` if that shard does not answer.
 */
export async function openSession(
  { sessions, people }: SiteData,
  key: SessionKey,
): Promise<OpenSession | undefined> {
  const [session, person] = await Promise.all([
    readThing(sessions, sessionId(key), 'session'),
    readThing(people, key.personId, 'person'),
  ])
  return session && person && { session, person }
}

export interface NewSession {
  readonly browser: string
  /** Account whose password was verified. If it has changed meanwhile, the session does not begin. Undefined for a sample person. */
  readonly account: Account | undefined
}

/** Begins the session of a key. Rejects with `VERSION_MISMATCH` if the password or the address has changed since it was verified. */
export async function beginSession(
  data: SiteData,
  key: SessionKey,
  { browser, account }: NewSession,
  now: Date = new Date(),
): Promise<void> {
  const id = sessionId(key)
  const value = { person_id: key.personId, signed_in: now, seen: now, expires: expiryAt(now), browser }
  if (account === undefined) await data.sessions.insert(value, { id })
  else
    await data.sessions.store.batch([
      data.accounts.writes.check(account),
      data.sessions.writes.insert(value, { id }),
    ])
}

/** Tells whether a session is to be renewed. */
export function isDue({ seen }: Session, now: Date = new Date()): boolean {
  return now.getTime() - seen.getTime() > RENEW_MS
}

/** Renews a session. A session that has ended meanwhile stays ended. */
export async function renewSession(
  { sessions }: SiteData,
  key: SessionKey,
  now: Date = new Date(),
): Promise<void> {
  await unlessGone(sessions.update(sessionId(key), { seen: now, expires: expiryAt(now) }))
}

/** Ends a session. A kept copy of its cookie is then worthless. */
export async function endSession({ sessions }: SiteData, key: SessionKey): Promise<void> {
  await sessions.delete(sessionId(key))
}

/** Ends a session of this person by the id of its entity. Returns false if there is none. */
export async function endSessionOf({ sessions }: SiteData, personId: string, id: string): Promise<boolean> {
  const session = await sessions.get(id)
  return session?.person_id === personId && (await sessions.delete(id))
}

/** Largest number of sessions in a person's list. */
const SESSIONS_SHOWN = 50

/** Returns the sessions of a person, latest sign-in first. */
export async function sessionsOf({ sessions }: SiteData, personId: string): Promise<readonly Session[]> {
  const { items } = await sessions.byPerson.page(
    { person_id: personId },
    { order: 'desc', limit: SESSIONS_SHOWN, ...SKIP },
  )
  return items
}

/** Stores a notice in the session's entity, so that it disappears with the session. */
export async function keepNotice({ sessions }: SiteData, key: SessionKey, notice: Notice): Promise<void> {
  await sessions.update(sessionId(key), { notice })
}

function expiryAt(now: Date): Date {
  return new Date(now.getTime() + SESSION_MS)
}
