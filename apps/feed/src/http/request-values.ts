import type { FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import { invalidAddress, notFound, unknownSender } from './problem.ts'

/** Returns true if a request only reads a page, so that nothing sent can be lost. */
export function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Reads the cursor in a page's address; undefined if there is none. Throws `Problem` for an invalid one. */
export function cursorOf(request: FastifyRequest, name: 'after' | 'before' = 'after'): string | undefined {
  const { [name]: after } = request.query as Partial<Record<string, unknown>>
  if (after === undefined || after === '') return undefined
  if (typeof after !== 'string' || after.length > 4000) throw invalidAddress()
  return after
}

/** Reads the id in an address. Throws the 404 for `thing` if it is not an id. */
export function idOf(request: FastifyRequest, thing: string): string {
  const { id } = request.params as { id?: unknown }
  if (!isId(id)) throw notFound(thing)
  return id.toLowerCase()
}

/** Reads the person's name in an address. Throws the 404 if it cannot be a name. */
export function nameOf(request: FastifyRequest): string {
  const { name } = request.params as { name?: unknown }
  if (typeof name !== 'string' || !/^[a-z0-9-]{1,40}$/i.test(name)) throw notFound('person of this name')
  return name
}

/**
 * Redirects a visitor to the sign-in page, which redirects to `back` afterwards. Throws `Problem` for a signed-in person whose shard does not
 * answer.
 */
export function toSignIn(reply: FastifyReply, back: string): FastifyReply {
  if (reply.request.isViewerUnread) throw unknownSender({ isRead: true })
  return reply.redirect(signInPath(back), 303)
}

/** Returns the address of the sign-in page, which redirects to `back` afterwards. */
export function signInPath(back: string): string {
  return `/sign-in?back=${encodeURIComponent(back)}`
}
