import type { Headers } from 'undici'
import { ForbiddenAddress } from '../guard/guard.ts'
import { retryAfterMs } from './headers.ts'

/** Why a fetch brought no feed. */
export interface Failure {
  /** Sentence for people. */
  readonly reason: string
  /** Status of the response, if there was one. */
  readonly status?: number
  /** Wait that the server asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

export function failureOfStatus(status: number, headers: Headers, now: Date): Failure {
  const wait = retryAfterMs(headers.get('retry-after'), now)
  const reason = isChallenge(headers) ? CHALLENGE : reasonOfStatus(status)
  return { status, reason, ...(wait !== undefined && { retryAfterMs: wait }) }
}

export const CHALLENGE = 'Its server asks for a check that only a browser can pass.'

function isChallenge(headers: Headers): boolean {
  return headers.get('cf-mitigated')?.toLowerCase() === 'challenge'
}

function reasonOfStatus(status: number): string {
  switch (status) {
    case 401:
    case 407:
      return `It asks for a password (status ${status}).`
    case 403:
      return 'Its server refuses this site (status 403).'
    case 404:
      return 'There is nothing at this address (status 404).'
    case 410:
      return 'Its server says that the feed is gone for good (status 410).'
    case 429:
      return 'Its server asks for fewer visits (status 429).'
    default:
      if (status >= 500) return `Its server has an error (status ${status}).`
      return status >= 300 && status < 400
        ? `It redirects without an address (status ${status}).`
        : `Its server answers with status ${status}.`
  }
}

/** Describes an error of the network. The text of the error itself is for programmers, and names addresses. */
export function failureOf(error: unknown): Failure {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof ForbiddenAddress) return { reason: each.message }
    const code = 'code' in each && typeof each.code === 'string' ? each.code : each.name
    const reason = REASONS.find(([codes]) => codes.test(code))?.[1]
    if (reason !== undefined) return { reason }
  }
  return { reason: 'The connection failed.' }
}

const REASONS: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^ENOTFOUND$/, 'There is no server of this name.'],
  [/^EAI_/, 'The name of its server could not be looked up.'],
  [/^ECONNREFUSED$/, 'Its server refuses connections.'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_BODY_TIMEOUT)$/, 'Its server broke the connection off.'],
  [
    /^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|UND_ERR_HEADERS_TIMEOUT)$/,
    'Its server does not answer.',
  ],
  [
    /^ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH|HTTP_REQUEST)/,
    'Its server does not speak https there. If it has none, begin the address with http://.',
  ],
  [/^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL|EPROTO)/, 'Its certificate is not valid.'],
  [
    /^(?:HTTPParserError|HPE_|UND_ERR_HEADERS_OVERFLOW|Z_|ERR__ZLIB|ERR_BROTLI)/,
    'Its answer is not well-formed.',
  ],
]
