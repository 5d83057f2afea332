import type { Trace } from 'looseleaf'
import type { Site } from '../domain/site/site.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    readonly site: Site
    /** Time of the request. */
    readonly now: Date
    /** Calls of this request to the store; undefined before the request was accepted. */
    trace: Trace | undefined
  }
}

export interface SiteRequestOptions {
  readonly site: Site
  readonly now: () => Date
}

/** Gives each request the site, and runs it in a trace of the store, up to the end of its response. */
export const siteRequests = shared<SiteRequestOptions>(async (app, { site, now }) => {
  app.decorateRequest('site', { getter: () => site })
  app.decorateRequest('now', { getter: now })
  app.decorateRequest('trace', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    void site.store.trace((trace) => {
      request.trace = trace
      // Unlike the hook `onResponse`, `close` also fires for a client that disconnects before its response.
      const answered = new Promise<void>((resolve) => reply.raw.once('close', resolve))
      // Later hooks and the route run in the trace's async context.
      done()
      return answered
    })
  })
})
