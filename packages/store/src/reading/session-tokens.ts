import type { Randomness } from '@looseleaf/core'

/** Tokens that stand for everything that was acknowledged when they were made. Moments are of one clock that nobody sets. */
export interface SessionTokens {
  /** One for all that was acknowledged until now. */
  make(): string
  /** All that a token stands for was acknowledged before this moment. */
  momentOf(token: string): number
}

/** Tokens of other processes that are kept in mind. One that is forgotten is new again, which costs a read of a primary. */
const MAX_SEEN = 10_000

const FORM = /^[0-9a-z]{1,40}-[0-9a-z]{1,12}$/

export function isSessionToken(value: unknown): boolean {
  return typeof value === 'string' && FORM.test(value)
}

/**
 * A token of this store says when it was made. That of another process says nothing that a clock of this one could be held against;
 * but what it stands for was acknowledged before it was seen here for the first time.
 */
export function createSessionTokens(now: () => number, random: Randomness): SessionTokens {
  const own = `${random.uuid().replaceAll('-', '')}-`
  const seen = new Map<string, number>()

  return {
    make: () => `${own}${Math.ceil(now() * 1_000).toString(36)}`,
    momentOf(token) {
      if (token.startsWith(own)) return Number.parseInt(token.slice(own.length), 36) / 1_000
      let moment = seen.get(token)
      if (moment === undefined) {
        for (const oldest of seen.keys()) {
          if (seen.size < MAX_SEEN) break
          seen.delete(oldest)
        }
        seen.set(token, (moment = now()))
      }
      return moment
    },
  }
}
