import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server of feeds on this machine, for a crawler that may fetch it. */
export interface FeedServer {
  /** Host and port. */
  readonly place: string
  readonly origin: string
  /** Requests so far, oldest first. */
  readonly requests: IncomingMessage[]
  /** Answers a path, in place of an earlier answer. Other paths get status 404. */
  on(path: string, handler: Handler): void
  close(): Promise<void>
}

export async function openFeedServer(): Promise<FeedServer> {
  const handlers = new Map<string, Handler>()
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    const handler = handlers.get(request.url ?? '')
    if (handler === undefined) response.writeHead(404).end()
    else handler(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    place,
    origin: `http://${place}`,
    requests,
    on: (path, handler) => void handlers.set(path, handler),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An item of a feed, by its guid. */
export interface RssItem {
  readonly guid: string
  readonly title?: string
  readonly link?: string
  readonly date?: Date
}

export interface RssOptions {
  readonly title?: string
  /** The feed's own address. */
  readonly self?: string
  readonly ttl?: number
}

export function rss(
  items: readonly (RssItem | string)[],
  { title = 'A feed', self, ttl }: RssOptions = {},
): string {
  const parts = items
    .map((item) => (typeof item === 'string' ? { guid: item } : item))
    .map(({ guid, title: name = guid, link, date }: RssItem) =>
      [
        `<item><guid isPermaLink="false">${guid}</guid><title>${name}</title>`,
        link && `<link>${link}</link>`,
        date && `<pubDate>${date.toUTCString()}</pubDate>`,
        '</item>',
      ]
        .filter(Boolean)
        .join(''),
    )
  const own = self === undefined ? '' : `<atom:link rel="self" href="${self}"/>`
  const stays = ttl === undefined ? '' : `<ttl>${ttl}</ttl>`
  return `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>${title}</title><link>https://site.example/</link>${own}${stays}${parts.join('')}</channel></rss>`
}

/** Answers with a text, of this status and with these headers. */
export function answer(text: string, headers: Record<string, string> = {}, status = 200): Handler {
  return (_request, response) => response.writeHead(status, headers).end(text)
}

export function redirect(status: number, location: string): Handler {
  return answer('', { location }, status)
}
