import { deriveId } from 'looseleaf'
import type { Notice, Person, SiteData } from './entities.ts'
import type { Reader } from './reader.ts'

/** How long somebody stays signed in, in milliseconds. */
export const SESSION_MS: number = 30 * 24 * 60 * 60 * 1000

/** Who a cookie says is signed in, and the random word that makes it this session and no other. */
export interface SessionKey {
  readonly nonce: string
  readonly userId: string
}

/** Begins a session, and ends those of the same person that are over anyway. */
export async function beginSession({ sessions }: SiteData, session: SessionKey, now: Date): Promise<void> {
  const user_id = session.userId
  await sessions.insert({ user_id, signed_in: now }, { id: idOfSession(session) })
  await sessions.byUser.deleteWhere({ user_id, signed_in: { lt: oldest(now) } })
}

/** Ends a session for good: whoever has kept its cookie has nothing. */
export async function endSession({ sessions }: SiteData, session: SessionKey): Promise<void> {
  await sessions.delete(idOfSession(session))
}

/** Who is signed in by a session; undefined when it has ended. One statement, as both live on one shard. */
export async function personOfSession(
  reader: Reader,
  key: SessionKey,
  now: Date,
): Promise<Person | undefined> {
  const [session, person] = await Promise.all([
    reader.get(reader.data.sessions, idOfSession(key)),
    reader.get(reader.data.people, key.userId),
  ])
  return session !== undefined && session.signed_in > oldest(now) ? person : undefined
}

/** Keeps it with the session, which takes it along when it ends. */
export async function keepNotice({ sessions }: SiteData, session: SessionKey, notice: Notice): Promise<void> {
  await sessions.update(idOfSession(session), { notice })
}

export async function noticeOf(reader: Reader, session: SessionKey): Promise<Notice | undefined> {
  return (await reader.get(reader.data.sessions, idOfSession(session)))?.notice
}

/** Beside its person, and without the word itself. */
function idOfSession({ nonce, userId }: SessionKey): string {
  return deriveId('session', nonce, { near: userId })
}

function oldest(now: Date): Date {
  return new Date(now.getTime() - SESSION_MS)
}
