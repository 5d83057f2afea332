import { LooseleafError, type Randomness } from '@looseleaf/core'
import { crc32 } from 'node:zlib'

/** Tokens that stand for everything that was acknowledged when they were made. Moments are of one clock that nobody sets. */
export interface SessionTokens {
  /** One for all that was acknowledged until now. */
  make(): string
  /** Throws `BAD_OPTION` for the token of another store. */
  requireOwn(call: string, token: string): void
  /** All that a token stands for was acknowledged before this moment. */
  momentOf(token: string): number
}

/** Tokens of other processes that are kept in mind. One that is forgotten is new again, which costs a read of a primary. */
const MAX_SEEN = 10_000

/** Of its store and its process, its moment, and the checksum of both. */
const FORM = /^[0-9a-z]{1,40}-[0-9a-z]{1,12}-[0-9a-z]{1,7}$/
/** A store's part of a token. */
const STORE_LENGTH = 7

/** Whether it is whole, of whatever store. */
export function isSessionToken(value: unknown): value is string {
  if (typeof value !== 'string' || !FORM.test(value)) return false
  const end = value.lastIndexOf('-')
  return value.slice(end + 1) === crc32(value.slice(0, end)).toString(36)
}

/**
 * A token of this store says when it was made. That of another process says nothing that a clock of this one could be held against;
 * but what it stands for was acknowledged before it was seen here for the first time.
 */
export function createSessionTokens(now: () => number, random: Randomness, storeId: string): SessionTokens {
  const ofStore = crc32(storeId).toString(36).padStart(STORE_LENGTH, '0')
  const own = `${ofStore}${random.uuid().replaceAll('-', '')}-`
  const ownChecksum = crc32(own)
  const seen = new Map<string, number>()

  return {
    make() {
      const moment = Math.ceil(now() * 1_000).toString(36)
      return `${own}${moment}-${crc32(moment, ownChecksum).toString(36)}`
    },
    requireOwn(call, token) {
      if (token.startsWith(ofStore)) return
      throw new LooseleafError(
        'BAD_OPTION',
        `The option after of ${call} has to be a token of this store, of a write or of \`sessionToken\`; got one of another store.`,
      )
    },
    momentOf(token) {
      if (token.startsWith(own))
        return Number.parseInt(token.slice(own.length, token.lastIndexOf('-')), 36) / 1_000
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
