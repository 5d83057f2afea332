import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from './problem.ts'
import { createRateLimiter, type Claim, type Rate } from './rate-limiter.ts'
import { readSession } from './session.ts'

/** What forms do, as far as it is counted. */
export type Deed = 'post' | 'comment' | 'like' | 'delete' | 'import' | 'sign-in'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the form of this route does; `uncounted` for one that anybody may send as often as they like. */
    deed?: Deed | 'uncounted'
  }
}

const SECOND = 1000

/** Of one session. */
const RATES: Readonly<Record<Deed, Rate>> = {
  post: { atOnce: 10, pauseMs: 6 * SECOND },
  comment: { atOnce: 20, pauseMs: 3 * SECOND },
  like: { atOnce: 60, pauseMs: SECOND },
  delete: { atOnce: 30, pauseMs: 2 * SECOND },
  import: { atOnce: 5, pauseMs: 20 * SECOND },
  'sign-in': { atOnce: 10, pauseMs: 6 * SECOND },
}

/** An address may have several people behind it, so it may do so many times as much as a session. */
const SESSIONS_OF_ADDRESS = 4

/**
 * Refuses forms that come too fast, by the session and by the address that they come from, before their body is read.
 * Every route that takes a form has to say what it does.
 */
export function registerRateLimits(app: FastifyInstance, now: () => Date): void {
  const limiter = createRateLimiter(() => now().getTime())
  app.addHook('onRoute', ({ method, url, config }) => {
    if ([method].flat().includes('POST') && config?.deed === undefined)
      throw new TypeError(`The route POST ${url} does not say what its form does.`)
  })
  app.addHook('onRequest', async (request) => {
    const { deed } = request.routeOptions.config
    if (deed === undefined || deed === 'uncounted') return
    const waitMs = limiter.take(claimsOf(request, deed))
    if (waitMs > 0) throw tooFast(waitMs)
  })
}

function claimsOf(request: FastifyRequest, deed: Deed): Claim[] {
  const { atOnce, pauseMs } = RATES[deed]
  const ofAddress = { atOnce: atOnce * SESSIONS_OF_ADDRESS, pauseMs: pauseMs / SESSIONS_OF_ADDRESS }
  const claims: Claim[] = [{ key: `${deed} from ${request.ip}`, rate: ofAddress }]
  const session = readSession(request)
  if (session !== undefined) claims.push({ key: `${deed} by ${session.nonce}`, rate: RATES[deed] })
  return claims
}

function tooFast(waitMs: number): Problem {
  const seconds = Math.ceil(waitMs / SECOND)
  return new Problem(
    429,
    'A little slower, please',
    `That was a lot at once, so this one was not taken. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}: if you go back, what you have typed should still be there.`,
    { 'retry-after': `${seconds}` },
  )
}
