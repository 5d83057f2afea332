import type { FastifyRequest } from 'fastify'
import { isLooseleafError } from 'looseleaf'
import { isOutage, Unreadable } from '../domain/site/partial-reads.ts'
import type { Person } from '../kinds/person.ts'
import type { HomeRows } from '../domain/home/home-list.ts'
import { readHome } from '../domain/home/queries.ts'
import { isDue, openSession, type OpenSession } from '../domain/accounts/sessions.ts'
import { notSignedIn, unknownSender } from './problem.ts'
import { isRead } from './request-values.ts'
import { renew, sessionKey } from './session.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in person, once `readViewer` has run. */
    viewer: Person | undefined
    /** True if the request belongs to a session whose shard does not answer. A page is then shown as to a visitor. */
    isViewerUnread: boolean
    /** The session of the signed-in person. */
    openSession: OpenSession | undefined
    /** The person's home page, for the number of unread entries on every page; undefined for a form. */
    home: HomeRows | undefined
  }
}

export const viewers = shared(async (app) => {
  app.decorateRequest('viewer', undefined)
  app.decorateRequest('isViewerUnread', false)
  app.decorateRequest('openSession', undefined)
  app.decorateRequest('home', undefined)
})

/**
 * Hook that reads the session and its person, and for a page also the person's home, at the same time. Renews a session that is due. If
 * their shard does not answer, the request goes on without a viewer.
 */
export async function readViewer(request: FastifyRequest): Promise<void> {
  const key = sessionKey(request)
  if (key === undefined || request.viewer !== undefined) return
  const { data } = request.site
  const isPage = request.method !== 'POST'
  const [open, home] = await Promise.all([
    openSession(data, key).catch(unreadOf),
    // A page without its number of unread entries is better than none.
    isPage ? readHome(request.site, key.personId).catch(noneOf) : undefined,
  ])
  request.isViewerUnread = open === 'unread'
  if (open === undefined || open === 'unread') return
  request.openSession = open
  request.viewer = open.person
  request.home = home
  // The next request tries a renewal again.
  if (isDue(open.session)) await unlessDown(renew(request))
}

/** Returns the signed-in person who sent a form. Throws `Problem`, with status 401 if there is none, and with 503 if it is unknown. */
export function signedIn(request: FastifyRequest): Person {
  const { viewer, isViewerUnread } = request
  if (isViewerUnread) throw unknownSender({ isRead: isRead(request) })
  if (viewer === undefined) throw notSignedIn()
  return viewer
}

/** Waits for a write that a page can do without. A shard that does not answer is no error. */
export async function unlessDown(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    if (!isOutage(error)) throw error
  }
}

function noneOf(error: unknown): undefined {
  if (!isLooseleafError(error) && !(error instanceof Unreadable)) throw error
  return undefined
}

function unreadOf(error: unknown): 'unread' {
  if (!(error instanceof Unreadable)) throw error
  return 'unread'
}
