import type { Act, Console } from '@looseleaf/console'
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import fastifyStatic from '@fastify/static'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fileURLToPath } from 'node:url'
import { renderToString } from 'preact-render-to-string'
import type { Site } from './domain/site/site.ts'
import type { Stage } from './stage/stage.ts'
import { registerRoutes } from './pages/index.ts'
import { UnknownHostPage } from './ui/unknown-host-page.tsx'
import { knownHosts } from './http/known-hosts.ts'
import { registerPages, WINDOW } from './http/pages.ts'
import { securityHeaders } from './http/security-headers.ts'

const PUBLIC_FOLDER = fileURLToPath(new URL('../public/', import.meta.url))

export interface AppOptions {
  readonly site: Site
  /** Demonstrations on the store of the site. Default: no window into the store. */
  readonly stage?: Stage
  /** Signs cookies and form tokens. */
  readonly secret: string
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** Public address behind a proxy. */
  readonly origin?: string | undefined
  /** Called with each error that is answered by a status of 500 or above. Default: writes to the standard error output. */
  readonly onError?: (error: unknown) => void
  /** Called after each act in the window into the store. Default: writes to the standard output. */
  readonly onAct?: (act: Act) => void
  /** Returns the current time. Default: that of the machine. */
  readonly now?: () => Date
}

/** Creates the site as a fastify application, ready for `listen` or `inject`. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const hosts = knownHosts({ host: options.host ?? '127.0.0.1', origin: options.origin })
  const app = fastify({
    bodyLimit: 64 * 1024,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    // Hooks do not run for an address that cannot be decoded.
    frameworkErrors: (error, request, reply) => {
      void reply.headers(securityHeaders)
      void (hosts.isKnown(request) ? pages.fail(error, request, reply) : sendUnknownHost(request, reply))
    },
  })
  // This hook is the first, so that no page answers under an unknown name.
  app.addHook('onRequest', async (request, reply) => {
    if (!hosts.isKnown(request)) return sendUnknownHost(request, reply)
  })
  const window = openWindow(options)
  if (window !== undefined) {
    app.addHook('onRequest', (request, reply, done) => {
      if (!window.handle(request.raw, reply.raw)) return done()
      // The window sets its own headers, checks its own form tokens and reads request bodies itself.
      reply.hijack()
    })
    app.addHook('preClose', async () => window.close())
  }
  app.addHook('onSend', async (_request, reply) => {
    void reply.headers(securityHeaders)
  })
  await app.register(cookie, { secret: options.secret })
  await app.register(formbody)
  // A file that is too large is read up to the limit, so that it can be refused by name while other files of the form are imported.
  await app.register(multipart, { throwFileSizeLimit: false })
  await app.register(fastifyStatic, {
    root: PUBLIC_FOLDER,
    prefix: '/assets/',
    index: false,
    // The address of the style sheet contains a digest of its text, so browsers may cache it for ever.
    immutable: true,
    maxAge: '365d',
  })
  const pages = registerPages(app, { ...options, hosts, window })
  registerRoutes(app, { site: options.site, pages })
  return app

  function sendUnknownHost(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const host = (request.headers.host ?? 'no name').slice(0, 200)
    const page = UnknownHostPage({ host, home: hosts.originOf(request) })
    return reply
      .code(421)
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${renderToString(page)}`)
  }
}

/** Opens the window into the store if the site serves one machine only: its visitors, who may act there, are then its owner. */
function openWindow(options: AppOptions): Console | undefined {
  if (!isForOneMachine(options)) return undefined
  return options.stage?.openWindow(options.site, WINDOW, options.onAct ?? logAct)
}

function logAct({ name, about, at, durationMs, outcome, failure }: Act): void {
  const result = [outcome, failure].filter(Boolean).join(' ') || 'done'
  console.log(`${at.toISOString()} store: ${name} ${about} (${Math.round(durationMs)} ms): ${result}`)
}

/** Returns true if only this machine can reach the site. Otherwise the window and X-rays stay closed. */
function isForOneMachine({ host = '127.0.0.1', origin }: AppOptions): boolean {
  return origin === undefined && ['127.0.0.1', '::1', 'localhost'].includes(host)
}
