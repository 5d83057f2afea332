import rateLimit, { normalizeIP, type RateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sessionId } from '../domain/accounts/sessions.ts'
import { counted } from '../text/counted.ts'
import { knownBrowser, type KnownBrowser } from './known-browsers.ts'
import { Problem } from './problem.ts'
import { sessionKey } from './session.ts'
import { shared } from './shared.ts'

/** Keys of each count; beyond them it forgets the one that was quiet longest. The plugin's own option reaches none of them. */
const MOST_SENDERS = 20_000

const perMinute = (max: number): RateLimitOptions => ({ max, timeWindow: 60_000, cache: MOST_SENDERS })

/** Counts for the address alone. A visitor who joins gets no new count. */
const perAddress = (max: number): RateLimitOptions => ({ ...perMinute(max), keyGenerator: networkOf })

/**
 * Counts all forms of an address, which may be that of a whole office, and those of a browser of an earlier sign-in for itself. It bounds
 * hashes and sessions; guesses of passwords have narrower limits.
 */
const signInForms: RateLimitOptions = {
  timeWindow: 60_000,
  cache: MOST_SENDERS,
  max: (request) => (knownBrowser(request) === undefined ? 100 : 10),
  keyGenerator: (request) => knownBrowser(request)?.nonce ?? networkOf(request),
}

/** Limits of forms. Each route counts for itself. */
export const limits = {
  post: perMinute(10),
  comment: perMinute(20),
  like: perMinute(60),
  delete: perMinute(30),
  import: perMinute(5),
  /** Forms that make the site fetch something. */
  fetch: perMinute(10),
  signIn: signInForms,
  join: perAddress(5),
  follow: perMinute(30),
  settings: perMinute(20),
} as const

export interface RateLimitsOptions {
  /** If false, no form is refused. */
  readonly isLimited: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Counts an attempt to sign in with a password, under a name or the id of a person. Returns the refusal if it is beyond the limit of
     * this name at this address, or of the name everywhere, or if there were too many wrong guesses from this address. A guesser at one
     * address thus does not lock the person out elsewhere.
     */
    countAttempt(name: string): Promise<Problem | undefined>
    /** Counts a wrong guess, under any name, for the address. Attempts with the right password do not count there. */
    countWrongGuess(): Promise<void>
    /**
     * Counts an attempt to sign in from the browser of a person who has signed in there before. It has a count of its own, so the attempts of
     * others never refuse it.
     */
    countKnown(browser: KnownBrowser): Promise<Problem | undefined>
    /** Counts an attempt of a signed-in person to prove the password, for the session. Attempts to sign in do not lock the person out. */
    countProof(): Promise<Problem | undefined>
    /** Name, or nonce of a known browser, of the attempt that is counted. */
    attempted: string
  }
}

/** Counts attempts with a password. */
const perTenMinutes = (max: number, keyGenerator: (request: FastifyRequest) => string): RateLimitOptions => ({
  max,
  timeWindow: 10 * 60_000,
  cache: MOST_SENDERS,
  keyGenerator,
})

/** Refuses forms beyond the limit of their route, before their body is read. Counts are in the memory of this process. */
export const rateLimits = shared<RateLimitsOptions>(async (app, { isLimited }) => {
  await app.register(rateLimit, {
    global: false,
    allowList: () => !isLimited,
    keyGenerator: keyOf,
    addHeaders: NO_HEADERS,
    addHeadersOnExceeding: NO_HEADERS,
    errorResponseBuilder: (_request, { ttl }) => tooFast(Math.ceil(ttl / 1000)),
  })
  const attemptedOf = ({ attempted }: FastifyRequest): string => attempted
  const attempts = [
    app.createRateLimit(perTenMinutes(10, (request) => `${networkOf(request)} ${request.attempted}`)),
    app.createRateLimit(perTenMinutes(100, attemptedOf)),
  ]
  const wrongGuesses = app.createRateLimit(perTenMinutes(100, networkOf))
  const known = app.createRateLimit(perTenMinutes(10, attemptedOf))
  const proofs = app.createRateLimit(perTenMinutes(10, sessionOf))
  app.decorateRequest('attempted', '')
  app.decorateRequest('countAttempt', async function (this: FastifyRequest, name: string) {
    const guesses = await wrongGuesses(this, { increment: false })
    if (!guesses.isAllowed && guesses.remaining === 0) return tooManyTries(guesses.ttlInSeconds)
    this.attempted = name
    return refusalOf(this, attempts)
  })
  app.decorateRequest('countWrongGuess', async function (this: FastifyRequest) {
    await wrongGuesses(this)
  })
  app.decorateRequest('countKnown', function (this: FastifyRequest, { nonce }: KnownBrowser) {
    this.attempted = nonce
    return refusalOf(this, [known])
  })
  app.decorateRequest('countProof', function (this: FastifyRequest) {
    return refusalOf(this, [proofs])
  })
})

/** Counts a request by these counters in turn. Returns the refusal of the first whose limit is exceeded. */
async function refusalOf(
  request: FastifyRequest,
  counters: readonly ReturnType<FastifyInstance['createRateLimit']>[],
): Promise<Problem | undefined> {
  for (const count of counters) {
    const limit = await count(request)
    if (!limit.isAllowed && limit.isExceeded) return tooManyTries(limit.ttlInSeconds)
  }
  return undefined
}

/** The page says when to try again; other requests need no numbers. */
const NO_HEADERS = {
  'x-ratelimit-limit': false,
  'x-ratelimit-remaining': false,
  'x-ratelimit-reset': false,
}

/** Counts for the account of the sender; strangers share the count of their address. */
function keyOf(request: FastifyRequest): string {
  return sessionKey(request)?.personId ?? networkOf(request)
}

/** Counts for the session of the sender. */
function sessionOf(request: FastifyRequest): string {
  const key = sessionKey(request)
  return key === undefined ? networkOf(request) : sessionId(key)
}

/**
 * Returns the address of the sender, of an IPv6 address the network: one household has a whole network. Senders that have left meanwhile
 * have no address any more, and share ''.
 */
export function networkOf({ ip }: { readonly ip: string | undefined }): string {
  return ip === undefined ? '' : normalizeIP(ip)
}

function tooManyTries(seconds: number): Problem {
  return new Problem(
    429,
    'A little slower, please',
    `There were too many tries with a password, by you or by others. Try again in ${counted(Math.ceil(seconds / 60), 'minute')}.`,
    { 'retry-after': `${seconds}` },
  )
}

function tooFast(seconds: number): Problem {
  return new Problem(
    429,
    'A little slower, please',
    `There were too many forms at once, so this one was not saved. Try again in ${counted(seconds, 'second')}. If you go back, your text should still be there.`,
    { 'retry-after': `${seconds}` },
  )
}
