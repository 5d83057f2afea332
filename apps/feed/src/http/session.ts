import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { SESSION_MS } from '../domain/accounts/sessions.ts'

const COOKIE = 'looseleaf_session'

/** Content of the signed cookie: a random nonce, from which form tokens are derived, and the id of the signed-in person. */
export interface Session {
  readonly nonce: string
  readonly personId: string | undefined
}

/** Returns the session of a request; undefined without a cookie, or if its signature is invalid. */
export function readSession(request: FastifyRequest): Session | undefined {
  // The cookie plugin has not run for a request whose address cannot be decoded.
  const cookies: FastifyRequest['cookies'] | undefined = request.cookies
  const cookie = cookies?.[COOKIE]
  if (cookie === undefined) return undefined
  const { valid, value } = request.unsignCookie(cookie)
  if (!valid) return undefined
  const [nonce, personId] = value.split('.')
  if (nonce === undefined || nonce.length < 20) return undefined
  return { nonce, personId: isId(personId) ? personId : undefined }
}

/** Sets a cookie with a new nonce, so that tokens of an earlier session become invalid. */
export function writeSession<PersonId extends string | undefined>(
  reply: FastifyReply,
  personId: PersonId,
  secure: boolean,
): { nonce: string; personId: PersonId } {
  const nonce = randomBytes(18).toString('base64url')
  void reply.setCookie(COOKIE, `${nonce}.${personId ?? ''}`, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    secure,
    maxAge: SESSION_MS / 1000,
  })
  return { nonce, personId }
}

export function forgetSession(reply: FastifyReply): void {
  void reply.clearCookie(COOKIE, { path: '/', httpOnly: true, sameSite: 'lax' })
}

/** Derives the token that proves that this site made a form for this session. */
export function formToken(secret: string, session: Session): string {
  return createHmac('sha256', secret).update(`form ${session.nonce}`).digest('base64url')
}

export function isFormToken(
  secret: string,
  session: Session | undefined,
  token: string | undefined,
): boolean {
  if (session === undefined || token === undefined) return false
  const expected = Buffer.from(formToken(secret, session))
  const given = Buffer.from(token)
  return expected.length === given.length && timingSafeEqual(expected, given)
}
