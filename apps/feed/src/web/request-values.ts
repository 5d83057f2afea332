import type { FastifyReply, FastifyRequest } from 'fastify'
import { isId } from 'looseleaf'
import type { Person } from '../model/entities.ts'
import { notFound, Problem } from './problem.ts'

/** The cursor in a page's address, of whichever way. */
export function cursorOf(request: FastifyRequest): string | undefined {
  const { after } = request.query as { after?: unknown }
  if (after === undefined || after === '') return undefined
  if (typeof after !== 'string' || after.length > 4000) {
    throw new Problem(
      400,
      'That page cannot be turned to',
      'The address of this page is not one that this site has given.',
    )
  }
  return after
}

/** A parameter of the address that has to be an id; an address with anything else leads nowhere. */
export function idOf(request: FastifyRequest, what: string): string {
  const { id } = request.params as { id?: unknown }
  if (!isId(id)) throw notFound(what)
  return id.toLowerCase()
}

/** A parameter of the address that has to be a person's name. */
export function nameOf(request: FastifyRequest): string {
  const { name } = request.params as { name?: unknown }
  if (typeof name !== 'string' || !/^[a-z0-9-]{1,40}$/i.test(name)) throw notFound('person of this name')
  return name
}

/** Sends whoever is not signed in to where that is done, and back afterwards. */
export function toSignIn(reply: FastifyReply, back: string): FastifyReply {
  return reply.redirect(`/sign-in?back=${encodeURIComponent(back)}`, 303)
}

/** The person who sent a form; a form can only be sent by somebody. */
export function signedIn(viewer: Person | undefined): Person {
  if (viewer === undefined)
    throw new Problem(401, 'Nobody is signed in', 'Sign in first, and send the form once more.')
  return viewer
}
