import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { countUnread } from '../domain/home/home-list.ts'
import { missingShards } from '../domain/site/partial-reads.ts'
import type { ReadPulse } from '../domain/site/pulse.ts'
import { sessionKey } from '../http/session.ts'
import { shared } from '../http/shared.ts'
import type { PageContext } from '../ui/page-context.ts'
import { pagePath } from './page-path.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Sends a page. The view gets facts about the request. Default of `status`: 200. */
    page(view: (ctx: PageContext) => VNode, status?: number): FastifyReply
  }
}

export interface RenderingOptions {
  /** Address of the window into the store; undefined if the site has none. */
  readonly window: string | undefined
  /** Reads the numbers for the strip above each page; undefined if the site has no strip. */
  readonly readPulse: ReadPulse | undefined
}

/** Renders pages as HTML. */
export const rendering = shared<RenderingOptions>(async (app, { window, readPulse }) => {
  const styles = assetAddress('style.css')
  const script = assetAddress('live.js')
  app.decorateReply('page', function (this: FastifyReply, view, status = 200) {
    const { request } = this
    const ctx = contextOf(request, this)
    const html = `<!doctype html>${renderToString(view(ctx))}`
    void this.code(status).type('text/html; charset=utf-8')
    // A partial page is complete again soon.
    if (status !== 200 || ctx.missingShards.length > 0)
      return this.header('cache-control', 'no-store').send(html)
    return this.header('cache-control', 'private, no-cache').header('etag', etagOf(request, html)).send(html)
  })

  function contextOf(request: FastifyRequest, reply: FastifyReply): PageContext {
    const { viewer, home, now, trace, formXray, isViewerUnread } = request
    const isProblem = reply.statusCode >= 500
    let token: string | undefined
    return {
      viewer,
      unread: home && countUnread(home).total,
      unknownViewer:
        isViewerUnread || (viewer === undefined && isProblem && sessionKey(request) !== undefined),
      // An error page says itself that a shard does not answer.
      missingShards: isProblem ? [] : missingShards(trace),
      token: () => (token ??= reply.formToken()),
      path: pagePath(request),
      newId: (near) => request.site.store.newId(near === undefined ? {} : { near }),
      now,
      trace,
      xray: () => request.keepXray(),
      formXray,
      window,
      pulse: readPulse?.(),
      styles,
      script,
    }
  }
})

/**
 * Parts that differ each time: ids of entities that a form will insert, the strip, which has the time of its numbers, and the cost of the page
 * in its foot.
 */
const VOLATILE =
  /<input type="hidden" name="once"[^>]*>|<aside class="strip".*?<\/aside>|<footer.*<\/footer>/gs

const TOKENS = /<input type="hidden" name="token"[^>]*>/g

/** Returns a weak tag of a page in this session. Pages with the same tag have the same content, and their forms are valid. */
function etagOf(request: FastifyRequest, html: string): string {
  const { formSecret, formXray } = request
  const page = html.replace(VOLATILE, '')
  const withoutTokens = page.replace(TOKENS, '')
  const hash = createHash('sha256').update(withoutTokens)
  // A browser without the secret gets a new one together with new tokens: those of its kept page are not valid.
  if (page !== withoutTokens) hash.update(formSecret ?? page)
  // Forms are valid in one session only, and the page after a form links to the X-ray of that form.
  hash.update(`${sessionKey(request)?.nonce} ${formXray}`)
  return `W/"${hash.digest('base64url').slice(0, 22)}"`
}

/** Returns the address of a file in `public`, with a digest of its content. */
function assetAddress(name: string): string {
  const content = readFileSync(new URL(`../../public/${name}`, import.meta.url))
  return `/assets/${name}?v=${createHash('sha256').update(content).digest('hex').slice(0, 12)}`
}
