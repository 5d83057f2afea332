import type { FastifyReply, FastifyRequest } from 'fastify'
import { newNonce, textOfKey } from '../domain/accounts/sessions.ts'
import { keyOf } from './session-store.ts'

/** Cookie of a browser in which a person has signed in with a password. It stays after the sign-out, and signs nobody in. */
const COOKIE = 'known_browser'
/** Seconds for which a browser stays known after a sign-in. */
const MAX_AGE = 365 * 24 * 60 * 60

/** A browser that has proved the password of a person. */
export interface KnownBrowser {
  /** Differs between browsers. */
  readonly nonce: string
  readonly personId: string
}

/** Returns the known browser of a request by its signed cookie; undefined if it has none. */
export function knownBrowser(request: FastifyRequest): KnownBrowser | undefined {
  const text = request.unsignCookie(request.cookies[COOKIE] ?? '').value
  return text === null ? undefined : keyOf(text)
}

/** Makes the browser known for a person whose password it has proved. The last person of a browser counts. */
export function knowBrowser(request: FastifyRequest, reply: FastifyReply, personId: string): void {
  const known = knownBrowser(request)
  const nonce = known?.personId === personId ? known.nonce : newNonce()
  void reply.setCookie(COOKIE, textOfKey(nonce, personId), {
    path: '/sign-in',
    httpOnly: true,
    sameSite: 'lax',
    secure: request.siteOrigin.startsWith('https:'),
    signed: true,
    maxAge: MAX_AGE,
  })
}
