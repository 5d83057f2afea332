import { createConsole, type Act, type Console } from '@looseleaf/console'
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import fastifyStatic from '@fastify/static'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fileURLToPath } from 'node:url'
import { renderToString } from 'preact-render-to-string'
import { isPublic, offeredIndexes } from '../model/entities.ts'
import { indexPurposes } from './index-purposes.ts'
import type { Site } from '../model/site.ts'
import { registerRoutes } from '../routes/index.ts'
import { UnknownHostPage } from '../views/unknown-host-page.tsx'
import { knownHosts } from './known-hosts.ts'
import { registerPages, WINDOW } from './pages.ts'
import { securityHeaders } from './security-headers.ts'

const PUBLIC_FOLDER = fileURLToPath(new URL('../../public/', import.meta.url))

export interface AppOptions {
  readonly site: Site
  /** Signs cookies and form tokens. */
  readonly secret: string
  /** The address that it listens on; 127.0.0.1 unless given. */
  readonly host?: string
  /** The address that a proxy gives it. */
  readonly origin?: string | undefined
  /** Takes errors that nobody foresaw. Default: the standard error output. */
  readonly onError?: (error: unknown) => void
  /** Is told what somebody has done to the store by its window. Default: the standard output. */
  readonly onAct?: (act: Act) => void
  /** Default: the machine's time. */
  readonly now?: () => Date
}

/** The site as a fastify application, ready to listen or to be asked by `inject`. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const hosts = knownHosts({ host: options.host ?? '127.0.0.1', origin: options.origin })
  const app = fastify({
    bodyLimit: 64 * 1024,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    // An address that cannot be decoded never comes as far as the hooks.
    frameworkErrors: (error, request, reply) => {
      void reply.headers(securityHeaders)
      void (hosts.isKnown(request) ? pages.fail(error, request, reply) : sendUnknownHost(request, reply))
    },
  })
  // Before everything else, for every method and address.
  app.addHook('onRequest', async (request, reply) => {
    if (!hosts.isKnown(request)) return sendUnknownHost(request, reply)
  })
  const window = openWindow(options)
  if (window !== undefined) {
    app.addHook('onRequest', (request, reply, done) => {
      if (!window.handle(request.raw, reply.raw)) return done()
      // It has headers, forms and tokens of its own, and reads itself what is sent to it.
      reply.hijack()
    })
    app.addHook('preClose', async () => window.close())
  }
  app.addHook('onSend', async (_request, reply) => {
    void reply.headers(securityHeaders)
  })
  await app.register(cookie, { secret: options.secret })
  await app.register(formbody)
  // A file that is too large is read up to the limit and then refused by name, beside the others of its form.
  await app.register(multipart, { throwFileSizeLimit: false })
  await app.register(fastifyStatic, {
    root: PUBLIC_FOLDER,
    prefix: '/assets/',
    index: false,
    // The pages name the style sheet with a digest of its text, so it may be kept for ever.
    immutable: true,
    maxAge: '365d',
  })
  const pages = registerPages(app, { ...options, hosts, window })
  registerRoutes(app, { site: options.site, pages })
  return app

  function sendUnknownHost(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const asked = (request.headers.host ?? 'nothing').slice(0, 200)
    const page = UnknownHostPage({ asked, home: hosts.originOf(request) })
    return reply
      .code(421)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${renderToString(page)}`)
  }
}

/** The window into the store. Everybody who may look may add and drop what is offered: on one machine that is its owner. */
function openWindow(options: AppOptions): Console | undefined {
  if (!isForOneMachine(options)) return undefined
  const { store, latencies, rowCounts, cleaner, faults } = options.site
  return createConsole({
    store,
    base: WINDOW,
    home: { href: '/', label: 'Looseleaf' },
    mayShow: isPublic,
    purposes: indexPurposes,
    live: { offer: offeredIndexes, latencies },
    faults: {
      indexes: ['entry_by_time', 'person_by_time'],
      counts: rowCounts,
      cleaner,
      shards: faults,
    },
    acts: { onAct: options.onAct ?? logAct },
  })
}

function logAct({ name, about, at, durationMs, outcome, failure }: Act): void {
  const result = [outcome, failure].filter(Boolean).join(' ') || 'done'
  console.log(`${at.toISOString()} store: ${name} ${about} (${Math.round(durationMs)} ms): ${result}`)
}

/** Where others can reach it, what pages take of the databases is nobody's business. */
function isForOneMachine({ host = '127.0.0.1', origin }: AppOptions): boolean {
  return origin === undefined && ['127.0.0.1', '::1', 'localhost'].includes(host)
}
