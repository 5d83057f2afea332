import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from './problem.ts'
import { createRateLimiter, type Quota, type Rate } from './rate-limiter.ts'
import { readSession } from './session.ts'

/** Actions of forms that have a rate limit. */
export type FormAction = 'post' | 'comment' | 'like' | 'delete' | 'import' | 'sign-in'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Action of this route's form; `uncounted` for a form without a rate limit. */
    action?: FormAction | 'uncounted'
  }
}

const SECOND = 1000

/** Rates per session. */
const RATES: Readonly<Record<FormAction, Rate>> = {
  post: { atOnce: 10, pauseMs: 6 * SECOND },
  comment: { atOnce: 20, pauseMs: 3 * SECOND },
  like: { atOnce: 60, pauseMs: SECOND },
  delete: { atOnce: 30, pauseMs: 2 * SECOND },
  import: { atOnce: 5, pauseMs: 20 * SECOND },
  'sign-in': { atOnce: 10, pauseMs: 6 * SECOND },
}

/** An address may have several people behind it, so its rates are this many times those of a session. */
const SESSIONS_PER_ADDRESS = 4

/**
 * Refuses forms beyond the rates of their session or their address, before their body is read. Every POST route has to declare its
 * action; otherwise registering it throws.
 */
export function registerRateLimits(app: FastifyInstance, now: () => Date): void {
  const limiter = createRateLimiter(() => now().getTime())
  app.addHook('onRoute', ({ method, url, config }) => {
    if ([method].flat().includes('POST') && config?.action === undefined)
      throw new TypeError(`The route POST ${url} does not declare the action of its form.`)
  })
  app.addHook('onRequest', async (request) => {
    const { action } = request.routeOptions.config
    if (action === undefined || action === 'uncounted') return
    const waitMs = limiter.take(quotasOf(request, action))
    if (waitMs > 0) throw tooFast(waitMs)
  })
}

function quotasOf(request: FastifyRequest, action: FormAction): Quota[] {
  const { atOnce, pauseMs } = RATES[action]
  const ofAddress = { atOnce: atOnce * SESSIONS_PER_ADDRESS, pauseMs: pauseMs / SESSIONS_PER_ADDRESS }
  const quotas: Quota[] = [{ key: `${action} from ${request.ip}`, rate: ofAddress }]
  const session = readSession(request)
  if (session !== undefined) quotas.push({ key: `${action} by ${session.nonce}`, rate: RATES[action] })
  return quotas
}

function tooFast(waitMs: number): Problem {
  const seconds = Math.ceil(waitMs / SECOND)
  return new Problem(
    429,
    'A little slower, please',
    `There were too many forms at once, so this one was not saved. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}. If you go back, your text should still be there.`,
    { 'retry-after': `${seconds}` },
  )
}
