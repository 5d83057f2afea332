import type { Act, Console } from '@looseleaf/console'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import etag from '@fastify/etag'
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import fastifyStatic from '@fastify/static'
import fastify, { type FastifyInstance } from 'fastify'
import { fileURLToPath } from 'node:url'
import type { Site } from './domain/site/site.ts'
import { addresses, decodable, routerOptions } from './http/addresses.ts'
import { forms } from './http/forms/forms.ts'
import { hosts } from './http/hosts.ts'
import { methods } from './http/methods.ts'
import { rateLimits } from './http/rate-limits.ts'
import { sessions } from './http/session.ts'
import { siteRequests } from './http/site.ts'
import { viewers } from './http/viewer.ts'
import { xrays } from './http/xrays.ts'
import { liveRoutes } from './live/route.ts'
import { createStreams, type StreamsOptions } from './live/streams.ts'
import { routes } from './pages/index.ts'
import { problems } from './pages/problems.tsx'
import { rendering } from './pages/rendering.ts'
import type { Stage } from './stage/stage.ts'

const PUBLIC_FOLDER = fileURLToPath(new URL('../public/', import.meta.url))
/** Time in which a request has to arrive whole. Its files are in memory meanwhile. */
const REQUEST_MS = 5 * 60_000
/** Path of the window into the store. */
const WINDOW = '/store'

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
  /** If false, forms have no rate limits, for tests. Default: true. */
  readonly isLimited?: boolean
  /** Returns the current time. Default: that of the machine. */
  readonly now?: () => Date
  /** True for a strip with live numbers above all pages, if the site has a window. Default: false. */
  readonly hasStrip?: boolean
  /** Limits and rhythm of the streams of live arrival, for tests. */
  readonly live?: Pick<StreamsOptions, 'limits' | 'aliveMs'>
}

/** Creates the site as a fastify application, ready for `listen` or `inject`. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { site, secret, host = '127.0.0.1', origin } = options
  const { now = () => new Date(), onError = console.error, isLimited = true } = options
  const app = fastify({
    bodyLimit: 64 * 1024,
    requestTimeout: REQUEST_MS,
    routerOptions,
    rewriteUrl: decodable,
    // Addresses of strangers count for their limits. Only a proxy on this machine is believed.
    trustProxy: origin === undefined ? false : 'loopback',
  })
  const address = (): string => app.listeningOrigin
  const window = openWindow(options, address)
  const pulse = window && options.hasStrip ? options.stage?.openPulse(site, onError) : undefined
  app.addHook('preClose', () => pulse?.close())
  // The order of the hooks: headers, cookies, and then the name of the site, so that no page answers under an unknown name.
  await app.register(helmet, HEADERS)
  await app.register(cookie, { secret })
  await app.register(problems, { onError })
  await app.register(hosts, { host, origin })
  if (window !== undefined) serveWindow(app, window)
  await app.register(siteRequests, { site, now })
  await app.register(sessions, { data: site.data, secret })
  await app.register(addresses)
  await app.register(viewers)
  await app.register(xrays, { keep: window?.keep })
  await app.register(forms, { secret })
  await app.register(rateLimits, { isLimited })
  await app.register(etag, { weak: true })
  await app.register(compress, { customTypes: COMPRESSED, globalDecompression: false })
  await app.register(methods)
  await app.register(rendering, { window: window && WINDOW, readPulse: pulse?.read })
  await app.register(fastifyStatic, {
    root: PUBLIC_FOLDER,
    prefix: '/assets/',
    index: false,
    // The addresses of the style sheet and the script contain digests, so browsers may cache them for ever.
    immutable: true,
    maxAge: '365d',
  })
  // Browsers ask for it on pages that name no icon, such as those of the window.
  app.get('/favicon.ico', async (_request, reply) => reply.redirect('/assets/icon.svg', 308))
  const streams = createStreams({ site, onError, readPulse: pulse?.read, ...options.live })
  await app.register(liveRoutes, { streams })
  await app.register(routes)
  app.refuseOtherMethods()
  return app
}

/** The script, styles and pictures come from files of the site alone. The script connects to no other site. */
const HEADERS: FastifyHelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      connectSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  frameguard: { action: 'deny' },
  // Browsers send no referrer and no origin with forms otherwise.
  referrerPolicy: { policy: 'same-origin' },
  // A proxy with https sets it for its own name.
  strictTransportSecurity: false,
}

/** Pages, style sheets, the script, pictures and feeds. Streams of events are sent as they are. */
const COMPRESSED =
  /^(?:text\/(?:html|css|javascript)|application\/javascript|image\/svg\+xml|application\/atom\+xml)\b/

function serveWindow(app: FastifyInstance, window: Console): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!window.handle(request.raw, reply.raw)) return done()
    // The window sets its own headers, checks its own form tokens and reads request bodies itself.
    reply.hijack()
  })
  app.addHook('preClose', async () => window.close())
}

/** Opens the window into the store if the site serves one machine only: its visitors, who may act there, are then its owner. */
function openWindow(options: AppOptions, address: () => string): Console | undefined {
  if (!isForOneMachine(options)) return undefined
  const { site, stage, secret, onAct = logAct } = options
  return stage?.openWindow(site, WINDOW, { onAct, address, secret })
}

function logAct({ name, about, at, durationMs, outcome, failure }: Act): void {
  const result = [outcome, failure].filter(Boolean).join(' ') || 'done'
  console.log(`${at.toISOString()} store: ${name} ${about} (${Math.round(durationMs)} ms): ${result}`)
}

/** Returns true if only this machine can reach the site. Otherwise the window and X-rays stay closed. */
function isForOneMachine({ host = '127.0.0.1', origin }: AppOptions): boolean {
  return origin === undefined && ['127.0.0.1', '::1', 'localhost'].includes(host)
}
