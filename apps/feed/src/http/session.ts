import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { beginSession, endSession, SESSION_MS, type SessionKey } from '../domain/accounts/sessions.ts'

const COOKIE = 'looseleaf_session'

/** Returns the session of a signed-in person, by the signed cookie of the request; undefined without one. It may have ended. */
export function sessionKey(request: FastifyRequest): SessionKey | undefined {
  const cookie = request.cookies[COOKIE]
  if (cookie === undefined) return undefined
  const { valid, value } = request.unsignCookie(cookie)
  const [nonce, personId] = valid ? value.split('.') : []
  return nonce === undefined || nonce.length < 20 || !isId(personId) ? undefined : { nonce, personId }
}

/** Signs a person in, and ends the previous session. */
export async function signIn(request: FastifyRequest, reply: FastifyReply, personId: string): Promise<void> {
  await endSessionOf(request)
  const session = { nonce: randomBytes(18).toString('base64url'), personId }
  void reply.setCookie(COOKIE, `${session.nonce}.${personId}`, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    secure: request.siteOrigin.startsWith('https:'),
    maxAge: SESSION_MS / 1000,
  })
  await beginSession(request.site.data, session, request.now)
}

export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await endSessionOf(request)
  void reply.clearCookie(COOKIE, { path: '/', httpOnly: true, sameSite: 'lax' })
}

async function endSessionOf(request: FastifyRequest): Promise<void> {
  const session = sessionKey(request)
  if (session !== undefined) await endSession(request.site.data, session)
}
