import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Console } from '@looseleaf/console'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Notice } from '../kinds/session.ts'
import type { Person } from '../kinds/person.ts'
import type { Reader } from '../domain/site/reader.ts'
import {
  beginSession,
  endSession,
  keepNotice,
  noticeOf,
  personOfSession,
} from '../domain/accounts/sessions.ts'
import type { Paging } from '../ui/older-link.tsx'
import type { PageContext } from '../ui/page-context.ts'
import { ProblemPage } from '../ui/problem-page.tsx'
import type { AppOptions } from '../app.ts'
import { safePath } from './back-path.ts'
import type { KnownHosts } from './known-hosts.ts'
import { createFormXrays } from './form-xrays.ts'
import { readFields, readUpload, type SentForm } from './form.ts'
import { forgedForm, notFound, problemOf, type Problem } from './problem.ts'
import { pagePath } from './page-path.ts'
import { registerRateLimits } from './rate-limits.ts'
import { traceRequests } from './traced-requests.ts'
import { cursorOf } from './request-values.ts'
import { forgetSession, formToken, isFormToken, readSession, writeSession, type Session } from './session.ts'

/** Opens and sends pages, for the routes. */
export interface Pages {
  /** Opens the page of a request: its context, and a reader that counts the page's cost. */
  open(request: FastifyRequest): Promise<OpenPage>
  /** Opens a page of a list, at the cursor in the address. Throws `Problem` for an invalid cursor. */
  openList(request: FastifyRequest): Promise<OpenList>
  /** Opens a page, and begins a session if there is none, so that a visitor who is not signed in can send its form. */
  openWithSession(request: FastifyRequest, reply: FastifyReply): Promise<OpenPage>
  /** Signs a person in, and ends the previous session. */
  signIn(request: FastifyRequest, reply: FastifyReply, person: Person): Promise<void>
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Returns the form of a request. Its token was already checked. */
  form(request: FastifyRequest): SentForm
  /** Redirects the sender of a form to a page that shows this notice. Reloading that page shows it again. */
  redirectWithNotice(
    request: FastifyRequest,
    reply: FastifyReply,
    to: string,
    notice: Notice,
  ): Promise<FastifyReply>
  /** Returns the last notice of the session. */
  notice(request: FastifyRequest, reader: Reader): Promise<Notice | undefined>
  send(reply: FastifyReply, page: VNode, status?: number): FastifyReply
  /** Returns the site's origin for this request, such as `http://localhost:3000`. */
  originOf(request: FastifyRequest): string
  /** Sends the page of an error. */
  fail(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

export interface OpenPage {
  readonly ctx: PageContext
  readonly reader: Reader
}

export interface OpenList extends OpenPage {
  /** Cursor of this page; undefined for the first one. */
  readonly after: string | undefined
  /** Returns the position of this page, given the list that was read. */
  paging(list: Pick<Paging, 'cursor' | 'previous'>): Paging
}

/** Path of the window into the store. */
export const WINDOW = '/store'

export interface PagesOptions extends AppOptions {
  readonly hosts: KnownHosts
  /** Window that keeps the X-rays of pages; undefined if the site has none. */
  readonly window: Console | undefined
}

export function registerPages(app: FastifyInstance, options: PagesOptions): Pages {
  const { site, secret, hosts, window } = options
  const now = options.now ?? ((): Date => new Date())
  const onError = options.onError ?? ((error: unknown): void => console.error(error))
  const styles = styleSheetAddress()
  const traceOf = traceRequests(app, site.store)
  const forms = new WeakMap<FastifyRequest, SentForm>()
  const xrays = new WeakMap<FastifyRequest, string>()
  const readers = new WeakMap<FastifyRequest, Reader>()
  const viewers = new WeakMap<FastifyRequest, Person>()
  const formXrays = createFormXrays()
  /** Form X-rays by the request that took them. A failed page is rendered twice, and has to show the same one. */
  const takenXrays = new WeakMap<FastifyRequest, string | undefined>()
  /** Sessions by the request that began them. */
  const begun = new WeakMap<FastifyRequest, Session>()

  async function open(request: FastifyRequest, session = readSession(request)): Promise<OpenPage> {
    const reader = readerOf(request)
    const viewer = isSignedIn(session) ? await personOfSession(reader, session, now()) : undefined
    if (viewer !== undefined) viewers.set(request, viewer)
    return { reader, ctx: contextOf(request, session, viewer, reader) }
  }

  /** Returns the reader of a request. A failed request keeps its reader, so that the error page shows the cost so far. */
  function readerOf(request: FastifyRequest): Reader {
    const reader = readers.get(request) ?? site.reader(traceOf(request))
    readers.set(request, reader)
    return reader
  }

  /** Keeps the X-ray of a request and returns its address. A form and the page that answers it share one X-ray. */
  function keepXray(request: FastifyRequest): string | undefined {
    const trace = traceOf(request)
    if (trace === undefined || window === undefined) return undefined
    const address =
      xrays.get(request) ?? window.keep(trace, `${request.method} ${request.url.split('?', 1)[0]}`)
    xrays.set(request, address)
    return address
  }

  function takeFormXray(request: FastifyRequest, session: Session | undefined): string | undefined {
    if (session === undefined || request.method !== 'GET') return undefined
    if (!takenXrays.has(request)) takenXrays.set(request, formXrays.take(session.nonce))
    return takenXrays.get(request)
  }

  function contextOf(
    request: FastifyRequest,
    session: Session | undefined,
    viewer: Person | undefined,
    reader: Reader,
  ): PageContext {
    const token = session === undefined ? '' : formToken(secret, session)
    const unknownViewer = false
    const { cost } = reader
    const newId = (near?: string): string => site.store.newId(near === undefined ? {} : { near })
    return {
      viewer,
      unknownViewer,
      token,
      path: pagePath(request),
      newId,
      now: now(),
      cost,
      xray: () => keepXray(request),
      formXray: takeFormXray(request, session),
      window: window && WINDOW,
      styles,
    }
  }

  const isForm = (request: FastifyRequest): boolean => request.method === 'POST' && !request.is404
  const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

  app.addHook('onRequest', async (request) => {
    if (isForm(request)) refuseForeign(request)
  })
  // Registered after the check for foreign forms, so that forms of other sites do not use up a person's rate.
  registerRateLimits(app, now)
  app.addHook('preHandler', async (request) => {
    if (!isForm(request)) return
    const session = readSession(request)
    const isToken = (token: string | undefined): boolean => isFormToken(secret, session, token)
    const form: SentForm = request.isMultipart()
      ? await readUpload(request, isToken)
      : { fields: readFields(request.body), files: [] }
    if (!isToken(form.fields['token'])) throw forgedForm()
    forms.set(request, form)
    // A form that redirects renders no page, so its X-ray is kept here.
    keepXray(request)
  })

  app.addHook('onSend', async (request, reply) => {
    if (!isForm(request) || reply.statusCode !== 303) return
    const session = begun.get(request) ?? readSession(request)
    const address = xrays.get(request)
    if (session !== undefined && address !== undefined) formXrays.keep(session.nonce, address)
  })

  function send(reply: FastifyReply, page: VNode, status = 200): FastifyReply {
    return reply
      .code(status)
      .header('cache-control', 'private, no-cache')
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${renderToString(page)}`)
  }

  async function sendProblem(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, title, message, headers }: Problem,
  ): Promise<FastifyReply> {
    // The page of a 5xx does not read the store, which may be the cause. The page of a 429 does not, to cost nothing.
    const opened = status < 500 && status !== 429 ? await open(request).catch(() => undefined) : undefined
    const ctx = opened?.ctx ?? contextWithoutStore(request)
    void reply.headers(headers)
    // Feed readers are programs and show no page. The X-ray is kept for people who look for the cause.
    if (isFeed(request) && status >= 500) {
      if (ctx.cost.sent().calls > 0) ctx.xray()
      return reply.code(status).type('text/plain; charset=utf-8').send(`${title}: ${message}\n`)
    }
    const again = status === 503 && isRead(request) ? safePath(request.url) : undefined
    return send(reply, ProblemPage({ ctx, status, title, text: message, again }), status)
  }

  function contextWithoutStore(request: FastifyRequest): PageContext {
    const session = readSession(request)
    const viewer = viewers.get(request)
    const ctx = contextOf(request, session, viewer, readerOf(request))
    return { ...ctx, unknownViewer: viewer === undefined && session?.personId !== undefined }
  }

  const isSecure = (request: FastifyRequest): boolean => hosts.originOf(request).startsWith('https:')

  async function endSessionOf(request: FastifyRequest): Promise<void> {
    const session = readSession(request)
    if (isSignedIn(session)) await endSession(site.data, session)
  }

  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, notFound('page')))
  function fail(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const problem = problemOf(error, isRead(request))
    if (problem.status >= 500) onError(error)
    return sendProblem(request, reply, problem)
  }
  app.setErrorHandler(fail)

  return {
    open,
    async openList(request) {
      const after = cursorOf(request)
      const paged = after !== undefined
      return {
        ...(await open(request)),
        after,
        paging: ({ cursor, previous }) => ({ cursor, previous, paged }),
      }
    },
    openWithSession: (request, reply) =>
      open(request, readSession(request) ?? writeSession(reply, undefined, isSecure(request))),
    async signIn(request, reply, person) {
      await endSessionOf(request)
      const session = writeSession(reply, person.id, isSecure(request))
      begun.set(request, session)
      await beginSession(site.data, session, now())
    },
    async signOut(request, reply) {
      await endSessionOf(request)
      forgetSession(reply)
    },
    form: (request) => forms.get(request) ?? { fields: {}, files: [] },
    async redirectWithNotice(request, reply, to, notice) {
      const session = readSession(request)
      if (isSignedIn(session)) await keepNotice(site.data, session, notice)
      return reply.redirect(to, 303)
    },
    async notice(request, reader) {
      const session = readSession(request)
      return isSignedIn(session) ? noticeOf(reader, session) : undefined
    },
    send,
    originOf: (request) => hosts.originOf(request),
    fail,
  }
}

function isSignedIn(session: Session | undefined): session is Session & { readonly personId: string } {
  return session?.personId !== undefined
}

function isFeed({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.endsWith('.atom') === true
}

/** Refuses a form if a header of the browser says that it comes from another site. */
function refuseForeign(request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site']
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') throw forgedForm()
  const origin = request.headers.origin
  if (origin !== undefined && URL.parse(origin)?.host !== request.headers.host?.toLowerCase())
    throw forgedForm()
}

function styleSheetAddress(): string {
  const sheet = readFileSync(new URL('../../public/style.css', import.meta.url))
  return `/assets/style.css?v=${createHash('sha256').update(sheet).digest('hex').slice(0, 12)}`
}
