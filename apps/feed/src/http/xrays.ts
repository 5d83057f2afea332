import type { FastifyRequest } from 'fastify'
import type { Trace } from 'looseleaf'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Keeps the X-ray of this request and returns its address; undefined if the site keeps none. */
    keepXray(): string | undefined
    /** Address of the X-ray of the form that redirected to this page; undefined if there is none. */
    readonly formXray: string | undefined
    /** Address of the X-ray once it was kept. */
    xray: string | undefined
  }
}

/** Keeps the trace of a request under a title, with the path of its page, and returns its address. */
export type KeepTrace = (trace: Trace, title: string, page: string | undefined) => string

const COOKIE = 'form_xray'
/** Seconds in which the page after a form has to be loaded. */
const MAX_AGE = 60

/** Keeps X-rays of pages and forms. The address of a form's X-ray reaches the next page by a cookie. */
export const xrays = shared<{ readonly keep: KeepTrace | undefined }>(async (app, { keep }) => {
  app.decorateRequest('xray', undefined)
  app.decorateRequest('keepXray', function (this: FastifyRequest) {
    if (this.trace === undefined || keep === undefined) return undefined
    // Without the query, because all visitors of the window see the address.
    const [path = '/'] = this.url.split('?', 1)
    this.xray ??= keep(this.trace, `${this.method} ${path}`, this.method === 'GET' ? path : undefined)
    return this.xray
  })
  app.decorateRequest('formXray', {
    getter() {
      const cookie = keep === undefined || this.method !== 'GET' ? undefined : this.cookies[COOKIE]
      return (cookie !== undefined && this.unsignCookie(cookie).value) || undefined
    },
  })
  if (keep === undefined) return
  // A form that redirects renders no page.
  app.addHook('preHandler', async (request) => {
    if (request.method === 'POST' && !request.is404) request.keepXray()
  })
  app.addHook('onSend', async (request, reply) => {
    const options = { path: '/', httpOnly: true, sameSite: 'lax' } as const
    if (request.method === 'POST' && reply.statusCode === 303 && request.xray !== undefined)
      reply.setCookie(COOKIE, request.xray, { ...options, signed: true, maxAge: MAX_AGE })
    else if (request.formXray !== undefined) reply.clearCookie(COOKIE, options)
  })
})
