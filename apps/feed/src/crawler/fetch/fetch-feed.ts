import { Agent, fetch, type Response } from 'undici'
import type { Guard } from '../guard/guard.ts'
import { failureOf, failureOfStatus, type Failure } from './failure.ts'
import { freshMs } from './headers.ts'

/** Limits of a fetch. */
export const MAX_FETCH_BYTES: number = 15 * 1024 * 1024
export const MAX_FETCH_MS = 20_000
export const MAX_REDIRECTS = 5

/** Text that identifies the stored version to a server, as the server sent it. */
export interface Validators {
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}

interface Answer extends Validators {
  /** Address that answered, after all redirects. */
  readonly address: string
  /** Address that permanent redirects led to; undefined if there were none. */
  readonly movedTo: string | undefined
  /** Time for which the server says that the answer stays the same, in milliseconds; 0 if it does not say. */
  readonly freshMs: number
}

/** Outcome of a fetch. */
export type Fetched =
  | (Answer & { readonly type: 'body'; readonly bytes: Uint8Array })
  | (Answer & { readonly type: 'unchanged' })
  | { readonly type: 'failed'; readonly failure: Failure }

export interface FetchOptions extends Partial<Validators> {
  readonly signal?: AbortSignal
  /** Number of people who follow the feed, for its server. */
  readonly followers?: number
}

export interface Fetcher {
  /** Fetches an address. Never rejects: a failure has a reason for people. */
  fetch(address: string, options?: FetchOptions): Promise<Fetched>
  close(): Promise<void>
}

export interface FetcherOptions {
  readonly guard: Guard
  /** Address of the site, by which servers know their visitor. */
  readonly origin?: string | undefined
  /** Time for all of a fetch, with its redirects and its body. Default: `MAX_FETCH_MS`. */
  readonly timeoutMs?: number
  /** Largest body after decompression. Default: `MAX_FETCH_BYTES`. */
  readonly maxBytes?: number
}

const ACCEPT =
  'application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, text/html;q=0.5, */*;q=0.1'

export function createFetcher(options: FetcherOptions): Fetcher {
  const { guard, origin, timeoutMs = MAX_FETCH_MS, maxBytes = MAX_FETCH_BYTES } = options
  const agent = new Agent({ connect: guard.connect, connections: 4, keepAliveTimeout: 4_000 })

  function headersOf({ etag, lastModified, followers = 0 }: FetchOptions): Record<string, string> {
    const about = [origin && `+${origin}`, followers > 0 && `${followers} followers`].filter(Boolean)
    return {
      accept: ACCEPT,
      'user-agent': about.length === 0 ? 'Looseleaf-Feed' : `Looseleaf-Feed (${about.join('; ')})`,
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
    }
  }

  async function follow(address: string, given: FetchOptions, signal: AbortSignal): Promise<Fetched> {
    const headers = headersOf(given)
    let url = new URL(address)
    let movedTo: string | undefined
    let isPermanent = true
    for (let redirects = 0; ; redirects++) {
      const refusal = guard.refusalOf(url)
      if (refusal !== undefined) {
        const reason = redirects === 0 ? refusal : `It redirects to ${url.host || url.protocol}. ${refusal}`
        return { type: 'failed', failure: { reason } }
      }
      const response = await fetch(url, { dispatcher: agent, redirect: 'manual', headers, signal })
      const next = redirectOf(response, url)
      if (next === undefined) return await readAnswer(response, url.href, movedTo, signal)
      await response.body?.cancel()
      if (redirects === MAX_REDIRECTS)
        return { type: 'failed', failure: { reason: `It redirects more than ${MAX_REDIRECTS} times.` } }
      isPermanent &&= response.status === 301 || response.status === 308
      url = next
      if (isPermanent) movedTo = url.href
    }
  }

  async function readAnswer(
    response: Response,
    address: string,
    movedTo: string | undefined,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const { status, headers } = response
    if (status !== 200 && status !== 304) {
      await response.body?.cancel()
      return { type: 'failed', failure: failureOfStatus(status, headers, new Date()) }
    }
    const answer = {
      address,
      movedTo,
      etag: headers.get('etag') ?? undefined,
      lastModified: headers.get('last-modified') ?? undefined,
      freshMs: freshMs(headers.get('cache-control')),
    }
    if (status === 304) return { type: 'unchanged', ...answer }
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of response.body ?? []) {
      signal.throwIfAborted()
      length += chunk.length
      // Leaving the loop cancels the body, so the rest is neither received nor decompressed.
      if (length > maxBytes) return { type: 'failed', failure: { reason: tooLarge(maxBytes) } }
      chunks.push(chunk)
    }
    return { type: 'body', ...answer, bytes: Buffer.concat(chunks) }
  }

  return {
    async fetch(address, given = {}) {
      const timeout = AbortSignal.timeout(timeoutMs)
      const signal = given.signal === undefined ? timeout : AbortSignal.any([timeout, given.signal])
      try {
        return await follow(address, given, signal)
      } catch (error) {
        if (timeout.aborted)
          return { type: 'failed', failure: { reason: `It takes longer than ${timeoutMs / 1000} seconds.` } }
        return { type: 'failed', failure: failureOf(error) }
      }
    },
    close: () => agent.destroy(),
  }
}

function redirectOf({ status, headers }: Response, base: URL): URL | undefined {
  const location = headers.get('location')
  if (location === null || ![301, 302, 303, 307, 308].includes(status)) return undefined
  const url = URL.parse(location, base.href)
  if (url === null) return undefined
  // Credentials of a redirect are not sent, nor stored with the address.
  url.username = ''
  url.password = ''
  return url
}

function tooLarge(maxBytes: number): string {
  return `It is larger than ${Math.round(maxBytes / 1024 / 1024)} MB.`
}
