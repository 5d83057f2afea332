import type { FastifyRequest } from 'fastify'
import { isLooseleafError } from 'looseleaf'
import type { Person } from '../kinds/person.ts'
import type { HomeRows } from '../domain/home/home-list.ts'
import { readHome } from '../domain/home/queries.ts'
import { isDue, openSession, type OpenSession } from '../domain/accounts/sessions.ts'
import { Problem } from './problem.ts'
import { renew, sessionKey } from './session.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in person, once `readViewer` has run. */
    viewer: Person | undefined
    /** The session of the signed-in person. */
    openSession: OpenSession | undefined
    /** The person's home page, for the number of unread entries on every page; undefined for a form. */
    home: HomeRows | undefined
  }
}

export const viewers = shared(async (app) => {
  app.decorateRequest('viewer', undefined)
  app.decorateRequest('openSession', undefined)
  app.decorateRequest('home', undefined)
})

/** Hook that reads the session and its person, and for a page also the person's home, at the same time. Renews a session that is due. */
export async function readViewer(request: FastifyRequest): Promise<void> {
  const key = sessionKey(request)
  if (key === undefined || request.viewer !== undefined) return
  const { data } = request.site
  const isPage = request.method !== 'POST'
  const [open, home] = await Promise.all([
    openSession(data, key),
    // A page without its number of unread entries is better than none, while a shard of a followed channel does not answer.
    isPage ? readHome(data, key.personId).catch(noneOf) : undefined,
  ])
  if (open === undefined) return
  request.openSession = open
  request.viewer = open.person
  request.home = home
  if (isDue(open.session)) await renew(request)
}

/** Returns the signed-in person who sent a form. Throws `Problem` with status 401 if there is none. */
export function signedIn({ viewer }: FastifyRequest): Person {
  if (viewer === undefined)
    throw new Problem(401, 'You are not signed in', 'Sign in first, and send the form again.')
  return viewer
}

function noneOf(error: unknown): undefined {
  if (!isLooseleafError(error)) throw error
  return undefined
}
