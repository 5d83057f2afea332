import { deriveId } from 'looseleaf'
import type { Notice } from '../../kinds/session.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'

/** Lifetime of a session in milliseconds. */
export const SESSION_MS: number = 30 * 24 * 60 * 60 * 1000

/** The person and the random nonce of a cookie, which together identify a session. */
export interface SessionKey {
  readonly nonce: string
  readonly personId: string
}

/** Begins a session, and deletes expired sessions of the same person. */
export async function beginSession({ sessions }: SiteData, session: SessionKey, now: Date): Promise<void> {
  const person_id = session.personId
  await sessions.insert({ person_id, signed_in: now }, { id: idOfSession(session) })
  await sessions.byPerson.deleteWhere({ person_id, signed_in: { lt: oldest(now) } })
}

/** Ends a session. A kept copy of its cookie is then worthless. */
export async function endSession({ sessions }: SiteData, session: SessionKey): Promise<void> {
  await sessions.delete(idOfSession(session))
}

/** Returns the person of a session; undefined if it has ended. Takes one statement, because both entities are on one shard. */
export async function personOfSession(
  { sessions, people }: SiteData,
  key: SessionKey,
  now: Date,
): Promise<Person | undefined> {
  const [session, person] = await Promise.all([sessions.get(idOfSession(key)), people.get(key.personId)])
  return session !== undefined && session.signed_in > oldest(now) ? person : undefined
}

/** Stores a notice in the session's entity, so that it disappears with the session. */
export async function keepNotice({ sessions }: SiteData, session: SessionKey, notice: Notice): Promise<void> {
  await sessions.update(idOfSession(session), { notice })
}

export async function noticeOf({ sessions }: SiteData, session: SessionKey): Promise<Notice | undefined> {
  return (await sessions.get(idOfSession(session)))?.notice
}

/** Derives the id, on the shard of the person. The stored id does not reveal the nonce. */
function idOfSession({ nonce, personId }: SessionKey): string {
  return deriveId('session', nonce, { near: personId })
}

function oldest(now: Date): Date {
  return new Date(now.getTime() - SESSION_MS)
}
