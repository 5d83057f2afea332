import fastifySession from '@fastify/session'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { browserName } from '../domain/accounts/browser-name.ts'
import {
  newNonce,
  SESSION_COOKIE,
  SESSION_MS,
  textOfKey,
  type SessionKey,
} from '../domain/accounts/sessions.ts'
import type { Account } from '../kinds/account.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { keyOf, sessionStore } from './session-store.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Id of the person whose session begins by this request. */
    signingIn: string | undefined
  }
}

const COOKIE_OPTIONS = { path: '/', httpOnly: true, sameSite: 'lax' } as const

export interface SessionsOptions {
  readonly data: SiteData
  /** Signs cookies. */
  readonly secret: string
}

/** Gives each request the session of its cookie. */
export const sessions = shared<SessionsOptions>(async (app, { data, secret }) => {
  app.decorateRequest('signingIn', undefined)
  await app.register(fastifySession, {
    secret,
    cookieName: SESSION_COOKIE,
    cookie: { ...COOKIE_OPTIONS, secure: false, maxAge: SESSION_MS },
    saveUninitialized: false,
    // `readViewer` renews a session once a day; the plugin would write it at each request.
    rolling: false,
    idGenerator: (request) => textOfKey(newNonce(), request?.signingIn),
    store: sessionStore(data),
  })
})

/** Returns the session of a signed-in person, by the signed cookie of the request; undefined without one. It may have ended. */
export function sessionKey(request: FastifyRequest): SessionKey | undefined {
  // There is none before the hook of the plugin, and after a sign-out.
  const session: FastifyRequest['session'] | null = request.session
  return session?.sessionId === undefined ? undefined : keyOf(session.sessionId)
}

/**
 * Signs a person in under a new key, and ends the previous session of the browser. Rejects with `VERSION_MISMATCH` or `NOT_FOUND` if the
 * account has changed since its password was verified. A sample person has no account.
 */
export async function signIn(
  request: FastifyRequest,
  personId: string,
  account: Account | undefined,
): Promise<void> {
  request.signingIn = personId
  await request.session.regenerate()
  request.session.pending = { browser: browserName(request.headers['user-agent']), account }
  await save(request)
}

export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await request.session.destroy()
  // Browsers would show kept pages, such as the settings, to the next person who goes back.
  void reply.clearCookie(SESSION_COOKIE, COOKIE_OPTIONS).header('clear-site-data', '"cache"')
}

/** Renews the session and its cookie. */
export async function renew(request: FastifyRequest): Promise<void> {
  request.session.pending = 'renewal'
  await save(request)
}

/** Makes the pending write, and sends the cookie with the response. */
async function save(request: FastifyRequest): Promise<void> {
  request.session.options({ secure: request.siteOrigin.startsWith('https:') })
  await request.session.save()
  // Otherwise the plugin would also send a header that clears the previous cookie of this name.
  delete request.cookies[SESSION_COOKIE]
}
