import { knownHosts, type KnownHostsOptions } from './known-hosts.ts'
import { UnknownHost } from './problem.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The site's origin for this request, such as `http://localhost:3000`. */
    readonly siteOrigin: string
  }
}

/** Refuses requests for names that are not the site's. */
export const hosts = shared<KnownHostsOptions>(async (app, options) => {
  const known = knownHosts(options)
  app.decorateRequest('siteOrigin', {
    getter() {
      return known.originOf(this)
    },
  })
  app.addHook('onRequest', async (request) => {
    if (!known.isKnown(request)) throw new UnknownHost(request.headers.host, request.siteOrigin)
  })
})
