import type { FastifyRequest } from 'fastify'
import { safePath } from './back-path.ts'
import { readFields } from './form.ts'

/** Addresses of forms that lead on to the page above them. */
const LEADING_ON: ReadonlySet<string> = new Set(['/entries/:id/comments'])

/**
 * The address that a page can be looked at under again. The page that answers a form has none of its own, so it takes
 * where the form would have led back to, or else the page that the form's address lies under, such as its entry.
 */
export function pagePath(request: FastifyRequest): string {
  if (request.method !== 'POST') return request.url
  return safePath(readFields(request.body)['back']) ?? pageAbove(request)
}

function pageAbove(request: FastifyRequest): string {
  const pattern = request.routeOptions.url?.split('/') ?? []
  const path = (request.url.split('?')[0] as string).split('/')
  for (let length = pattern.length; length > 1; length--) {
    const url = pattern.slice(0, length).join('/')
    if (!LEADING_ON.has(url) && request.server.hasRoute({ method: 'GET', url }))
      return path.slice(0, length).join('/')
  }
  return '/'
}
