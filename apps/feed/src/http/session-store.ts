import type fastifySession from '@fastify/session'
import type * as fastify from 'fastify'
import { isId } from 'looseleaf'
import { callbackify } from 'node:util'
import {
  beginSession,
  endSession,
  renewSession,
  SESSION_MS,
  type NewSession,
  type SessionKey,
} from '../domain/accounts/sessions.ts'
import type { SiteData } from '../kinds/site-data.ts'

declare module 'fastify' {
  interface Session {
    /** The write that the next `save` makes: the session that begins, or its renewal. */
    pending?: NewSession | 'renewal' | undefined
  }
}

/** Returns the key of a session id, which is its text; undefined if nobody is signed in. */
export function keyOf(sessionId: string): SessionKey | undefined {
  const [nonce = '', personId] = sessionId.split('.')
  return nonce.length >= 20 && isId(personId) ? { nonce, personId } : undefined
}

/**
 * Keeps the sessions of `@fastify/session` in the store. Every signed cookie opens a session here without a statement. The page that
 * needs its person reads both together, see `readViewer`; so files, and forms beyond their rate, cost no read.
 */
export function sessionStore(data: SiteData): fastifySession.SessionStore {
  async function write(id: string, session: fastify.Session): Promise<void> {
    const { pending } = session
    const key = keyOf(id)
    if (pending === undefined || key === undefined) return
    if (pending === 'renewal') await renewSession(data, key)
    else await beginSession(data, key, pending)
    session.pending = undefined
  }

  async function end(id: string): Promise<void> {
    const key = keyOf(id)
    if (key !== undefined) await endSession(data, key)
  }

  return {
    get: (id, callback) => callback(null, keyOf(id) && { cookie: { originalMaxAge: SESSION_MS } }),
    set: callbackify(write),
    destroy: callbackify(end),
  }
}
