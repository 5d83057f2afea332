import type { Randomness } from '@looseleaf/core'
import { badOption } from '@looseleaf/core/internal'
import { crc32 } from 'node:zlib'

/** Makes and reads tokens that stand for every write acknowledged when they were made. Moments are of one monotonic clock. */
export interface SessionTokens {
  /** Makes a token for every write acknowledged so far. */
  make(): string
  /** Throws `BAD_OPTION` for the token of another store. */
  requireOwn(call: string, token: string): void
  /** Returns a moment before which all writes were acknowledged that the token stands for. */
  momentOf(token: string): number
}

/** Remembered tokens of other processes. A forgotten token counts as new, which costs a read of a primary. */
const MAX_SEEN = 10_000

/** Store and process, moment, and the checksum of both. */
const FORM = /^[0-9a-z]{1,40}-[0-9a-z]{1,12}-[0-9a-z]{1,7}$/
/** Digits that stand for the store. */
const STORE_LENGTH = 7

/** Returns true for a whole token of any store. */
export function isSessionToken(value: unknown): value is string {
  if (typeof value !== 'string' || !FORM.test(value)) return false
  const end = value.lastIndexOf('-')
  return value.slice(end + 1) === crc32(value.slice(0, end)).toString(36)
}

/**
 * Makes the tokens of a process. Its own tokens hold the moment when they were made. The moment in a token of another process is of
 * another clock; instead counts the moment when this process first sees the token, which is later.
 */
export function createSessionTokens(now: () => number, random: Randomness, storeId: string): SessionTokens {
  const ofStore = crc32(storeId).toString(36).padStart(STORE_LENGTH, '0')
  const prefix = `${ofStore}${random.uuid().replaceAll('-', '')}-`
  const prefixChecksum = crc32(prefix)
  const seen = new Map<string, number>()

  return {
    make() {
      const moment = Math.ceil(now() * 1_000).toString(36)
      return `${prefix}${moment}-${crc32(moment, prefixChecksum).toString(36)}`
    },
    requireOwn(call, token) {
      if (token.startsWith(ofStore)) return
      throw badOption(
        `The option after of ${call} has to be a token of this store, of a write or of \`sessionToken\`; got one of another store.`,
      )
    },
    momentOf(token) {
      if (token.startsWith(prefix))
        return Number.parseInt(token.slice(prefix.length, token.lastIndexOf('-')), 36) / 1_000
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
