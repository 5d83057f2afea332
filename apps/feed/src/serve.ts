import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { openSite, type Site } from './model/site.ts'
import { settingOnce } from './model/settings.ts'
import { seedSample } from './sample/seed.ts'
import type { Settings } from './settings.ts'
import { createApp } from './web/app.ts'

const FIRST_PORT = 3000
const LAST_PORT = 3099
/** Requests in flight have this long to finish when the site is stopped. */
const PATIENCE_MS = 2000

export interface RunningSite {
  readonly url: string
  /** Entities that were written because the store was new; 0 otherwise. */
  readonly seeded: number
  /** Lets requests in flight finish, then closes the store. */
  stop(): Promise<void>
}

/** Opens the store, fills it if it is new, and listens. Nothing is made of a store where the port is taken. */
export async function serve(settings: Settings): Promise<RunningSite> {
  await checkPort(settings)
  const site = await openSite({ shards: settings.shards })
  try {
    const seeded = await seedSample(site.data)
    const secret = await settingOnce(site.data.settings, 'cookie secret', () =>
      randomBytes(32).toString('base64url'),
    )
    await warmUp(site, secret)
    const app = await createApp({ site, secret, host: settings.host, origin: settings.origin })
    const url = await listen(app, settings)
    return {
      url,
      seeded,
      async stop() {
        // A browser may keep a connection open on which it never asks for anything.
        const timer = setTimeout(() => app.server.closeAllConnections(), PATIENCE_MS)
        await app.close()
        clearTimeout(timer)
        await site.close()
      },
    }
  } catch (error) {
    await site.close()
    throw error
  }
}

/** Pages that have a part of every other one. */
const WARM_PATHS = ['/', '/people', '/sources', '/sign-in', '/feed.atom']

/**
 * Makes pages that nobody sees, so that whoever comes first does not wait for what is done once: code is compiled, statements are
 * prepared, and connections are opened. It is done by a site without a window, whose X-rays are of what people ask alone; the numbers of the
 * store have these calls too.
 */
async function warmUp(site: Site, secret: string): Promise<void> {
  const host = 'nobody.invalid'
  // What fails now fails where somebody sees it.
  const app = await createApp({ site, secret, origin: `http://${host}`, onError: () => {} })
  for (const url of WARM_PATHS) await app.inject({ url, headers: { host } })
  await app.close()
}

/** Rejects for a port that cannot be listened on, before there is anything that would stay behind. */
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
