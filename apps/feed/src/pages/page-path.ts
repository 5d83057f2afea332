import type { FastifyRequest } from 'fastify'
import { safePath } from '../http/back-path.ts'

/** GET routes that only redirect to the page above them. */
const REDIRECTS: ReadonlySet<string> = new Set(['/entries/:id/comments'])

/**
 * Returns the address under which a page can be loaded again. A page that answers a form has no address of its own, so this is the
 * form's redirect path, or else the page above the form's address, such as its entry.
 */
export function pagePath(request: FastifyRequest): string {
  if (request.method !== 'POST') return request.url
  return safePath(request.fields['back']) ?? pageAbove(request)
}

/** Returns the page above an address, such as the entry of a form about it. */
export function pageAbove(request: FastifyRequest): string {
  const pattern = request.routeOptions.url?.split('/') ?? []
  const path = (request.url.split('?')[0] as string).split('/')
  for (let length = pattern.length; length > 1; length--) {
    const url = pattern.slice(0, length).join('/')
    if (!REDIRECTS.has(url) && request.server.isPage(url)) return path.slice(0, length).join('/')
  }
  return '/'
}
