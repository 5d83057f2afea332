import type { IncomingMessage } from 'node:http'
import { safePath } from './back-path.ts'
import { Problem } from './problem.ts'
import { isRead } from './request-values.ts'
import { shared } from './shared.ts'

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

/** Refuses addresses that cannot be decoded, and redirects those with a slash too many at their end. */
export const addresses = shared(async (app) => {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url !== request.originalUrl)
      throw new Problem(400, 'Invalid request', 'The request could not be read. Nothing has been changed.')
    const path = isRead(request) ? withoutSlash(request.url) : undefined
    if (path !== undefined) return reply.redirect(path, 308)
  })
})

/** Returns the address without the slash at the end of its path; undefined if there is none. */
function withoutSlash(url: string): string | undefined {
  const [path = '', ...query] = url.split('?')
  return path === '/' || !path.endsWith('/') ? undefined : safePath([path.slice(0, -1), ...query].join('?'))
}
