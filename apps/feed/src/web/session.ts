import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { SESSION_MS } from '../model/sessions.ts'

const COOKIE = 'looseleaf_session'

/** What the signed cookie holds: a random word that form tokens are made of, and who is said to be signed in. */
export interface Session {
  readonly nonce: string
  readonly userId: string | undefined
}

/** The session of a request; undefined when there is no cookie, or one that was not signed here. */
export function readSession(request: FastifyRequest): Session | undefined {
  // There are no cookies yet on a request whose very address was refused.
  const cookies: FastifyRequest['cookies'] | undefined = request.cookies
  const cookie = cookies?.[COOKIE]
  if (cookie === undefined) return undefined
  const { valid, value } = request.unsignCookie(cookie)
  if (!valid) return undefined
  const [nonce, userId] = value.split('.')
  if (nonce === undefined || nonce.length < 20) return undefined
  return { nonce, userId: isId(userId) ? userId : undefined }
}

/** Gives out a cookie with a new random word: what was known of an earlier session is of no use any more. */
export function writeSession<UserId extends string | undefined>(
  reply: FastifyReply,
  userId: UserId,
  secure: boolean,
): { nonce: string; userId: UserId } {
  const nonce = randomBytes(18).toString('base64url')
  void reply.setCookie(COOKIE, `${nonce}.${userId ?? ''}`, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    secure,
    maxAge: SESSION_MS / 1000,
  })
  return { nonce, userId }
}

export function forgetSession(reply: FastifyReply): void {
  void reply.clearCookie(COOKIE, { path: '/', httpOnly: true, sameSite: 'lax' })
}

/** What a form has to send back to prove that this site made it for this session. */
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
