import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { safePath } from './back-path.ts'
import { notFound, Problem } from './problem.ts'
import { isRead } from './request-values.ts'
import { shared } from './shared.ts'

/** Largest length of a parameter in a path, such as a tag. */
const MAX_PARAMETER = 200

/** Without a bound of its own, the router leaves long parameters to `addresses`: it would answer them before any hook runs. */
export const routerOptions = { maxParamLength: Number.MAX_SAFE_INTEGER }

/**
 * Returns the address of a request, or another one if it cannot be decoded. The router would answer such an address before any hook
 * runs, under any name and without headers.
 */
export function decodable({ url = '/' }: IncomingMessage): string {
  try {
    decodeURI(url.split('?', 1)[0] as string)
    return url
  } catch {
    return '/undecodable'
  }
}

/** Refuses addresses that cannot be decoded or have a parameter that is too long, and redirects those with a slash too many at their end. */
export const addresses = shared(async (app) => {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url !== request.originalUrl)
      throw new Problem(400, 'Invalid request', 'The request could not be read. Nothing has been changed.')
    if (hasLongParameter(request)) throw notFound('page')
    const path = isRead(request) ? withoutSlash(request.url) : undefined
    if (path !== undefined) return reply.redirect(path, 308)
  })
})

function hasLongParameter({ params }: FastifyRequest): boolean {
  return Object.values(params as Record<string, string>).some(({ length }) => length > MAX_PARAMETER)
}

/** Returns the address without the slash at the end of its path; undefined if there is none. */
function withoutSlash(url: string): string | undefined {
  const [path = '', ...query] = url.split('?')
  return path === '/' || !path.endsWith('/') ? undefined : safePath([path.slice(0, -1), ...query].join('?'))
}
