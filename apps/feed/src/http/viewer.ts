import type { FastifyRequest } from 'fastify'
import type { Person } from '../kinds/person.ts'
import { personOfSession } from '../domain/accounts/sessions.ts'
import { Problem } from './problem.ts'
import { sessionKey } from './session.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in person, once `readViewer` has run. */
    viewer: Person | undefined
  }
}

export const viewers = shared(async (app) => {
  app.decorateRequest('viewer', undefined)
})

/** Hook that reads the signed-in person. */
export async function readViewer(request: FastifyRequest): Promise<void> {
  const session = sessionKey(request)
  if (session !== undefined && request.viewer === undefined)
    request.viewer = await personOfSession(request.site.data, session, request.now)
}

/** Returns the signed-in person who sent a form. Throws `Problem` with status 401 if there is none. */
export function signedIn({ viewer }: FastifyRequest): Person {
  if (viewer === undefined)
    throw new Problem(401, 'You are not signed in', 'Sign in first, and send the form again.')
  return viewer
}
