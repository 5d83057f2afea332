import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { reportErrors } from './delivery/report-errors.ts'
import { startDeliveries } from './delivery/start-deliveries.ts'
import { requireArgon2 } from './domain/accounts/passwords.ts'
import { createLoop } from './domain/site/loop.ts'
import { openSite, type Site } from './domain/site/site.ts'
import { settingOnce } from './domain/site/settings.ts'
import { seedSample } from './day/sample/seed.ts'
import { openFeeds } from './crawler/open-feeds.ts'
import type { Settings } from './settings.ts'
import { createStage } from './stage/stage.ts'
import { createApp } from './app.ts'

const FIRST_PORT = 3000
const LAST_PORT = 3099
/** Time for requests in flight to finish when the site stops. */
const STOP_TIMEOUT_MS = 2000

export interface RunningSite {
  readonly url: string
  /** Entities that were written because the store was new; 0 otherwise. */
  readonly seeded: number
  /** Lets requests in flight finish, then closes the store. */
  stop(): Promise<void>
}

/** Opens the store, fills it if it is new, and listens. If the port is taken, it rejects before creating any data. */
export async function serve(settings: Settings): Promise<RunningSite> {
  requireArgon2()
  await checkPort(settings)
  // Closes all that was opened, the last first, if a later step fails.
  await using opened = new AsyncDisposableStack()
  const stage = createStage(settings.shards)
  // The processes that deliver also clean, so that a site without deliveries answers visitors only.
  const site = await openSite({ ...stage, cleaner: settings.delivers })
  opened.defer(() => site.close())
  const seeded = await seedSample(site.data)
  const secret = await settingOnce(site.data.settings, 'cookie secret', () =>
    randomBytes(32).toString('base64url'),
  )
  await warmUp(site, secret)
  const feeds = openFeeds(site.data, settings)
  opened.defer(() => feeds.stop())
  const deliveries = settings.delivers
    ? createLoop(() => startDeliveries(site, { onError: reportErrors(console.error) }))
    : undefined
  opened.defer(() => deliveries?.close())
  const { host, origin, hasStrip } = settings
  const running = { ...site, feeds, deliveries, crawler: feeds.crawler }
  const app = await createApp({ site: running, stage, secret, host, origin, hasStrip })
  opened.defer(() => closeApp(app))
  const url = await listen(app, settings)
  deliveries?.start()
  const closing = opened.move()
  return { url, seeded, stop: () => closing.disposeAsync() }
}

/** Lets requests in flight finish. A browser may keep an idle connection open, which would hold the end up. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), STOP_TIMEOUT_MS)
  await app.close()
  clearTimeout(timer)
}

/** Pages that together use the code of all others. Feeds are not among them: their writer loads with the first request for one. */
const WARM_PATHS = ['/', '/people', '/sources', '/sign-in', '/join']

/**
 * Renders pages without a visitor. The first visitor then does not wait for compiling code, preparing statements and opening
 * connections. The app for this has no window, because X-rays should show visitors' pages only. The store's own metrics include these
 * calls.
 */
async function warmUp(site: Site, secret: string): Promise<void> {
  const host = 'nobody.invalid'
  // An error here is ignored: a page that fails now fails again for a visitor, where it is reported.
  const app = await createApp({ site, secret, origin: `http://${host}`, onError: () => {} })
  for (const url of WARM_PATHS) await app.inject({ url, headers: { host } })
  await app.close()
}

/** Rejects if the port cannot be opened, before the store creates files. */
async function checkPort({ host, port }: Settings): Promise<void> {
  if (port === undefined || port === 0) return
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

async function listen(app: FastifyInstance, { host, port }: Settings): Promise<string> {
  if (port !== undefined) return app.listen({ host, port })
  for (let candidate = FIRST_PORT; ; candidate++) {
    try {
      return await app.listen({ host, port: candidate })
    } catch (error) {
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
      if (!taken || candidate === LAST_PORT) throw error
    }
  }
}
