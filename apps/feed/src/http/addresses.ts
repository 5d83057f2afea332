import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'
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

/** Refuses addresses that cannot be decoded. */
export const addresses = shared(async (app) => {
  app.addHook('onRequest', async (request) => {
    if (request.url !== request.originalUrl)
      throw new Problem(400, 'Invalid request', 'The request could not be read. Nothing has been changed.')
  })
})
