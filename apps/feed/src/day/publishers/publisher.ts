import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { writeFeed, type Format, type PublishedItem } from './write-feed.ts'

/** Items of a feed document. Older ones fall off its end, as on most sites. */
const ITEMS_IN_FEED = 30

export interface PublisherOptions {
  readonly title: string
  readonly about: string
  readonly format: Format
  readonly items: readonly PublishedItem[]
  /** Seconds for which the feed says that it stays as it is. */
  readonly maxAge?: number
  /** Port to listen on if it is free. Default: any free one. */
  readonly port?: number | undefined
}

/** A web site on this machine with a page and a feed. */
export interface Publisher {
  /** Host and port, for the list of addresses that a crawler may fetch. */
  readonly host: string
  readonly origin: string
  readonly feedUrl: string
  publish(item: PublishedItem): void
  /** Requests of the feed, and those among them that were answered with 304. */
  requests(): { readonly all: number; readonly unchanged: number }
  close(): Promise<void>
}

/** Starts a site on this machine. Its feed has an ETag, and is compressed for clients that accept it. */
export async function startPublisher({
  title,
  about,
  format,
  items,
  maxAge = 0,
  port = 0,
}: PublisherOptions): Promise<Publisher> {
  const shown = [...items]
  let all = 0
  let unchanged = 0
  const server = createServer(answer)
  await listen(server, port).catch(() => listen(server, 0))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const origin = `http://${host}`

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url?.split('?', 1)[0]
    if (path === '/feed') return sendFeed(request, response)
    const isPage = path === '/' || shown.some((item) => item.path === path)
    response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(
      `<!doctype html><title>${title.replaceAll('<', '&lt;')}</title><link rel="alternate" type="application/rss+xml" href="/feed">`,
    )
  }

  function sendFeed(request: IncomingMessage, response: ServerResponse): void {
    all++
    const newest = shown.toReversed().slice(0, ITEMS_IN_FEED)
    const { type, text } = writeFeed(format, { title, about, origin }, newest)
    const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 20)}"`
    const headers = { etag, 'cache-control': `max-age=${maxAge}` }
    if (request.headers['if-none-match'] === etag) {
      unchanged++
      response.writeHead(304, headers).end()
      return
    }
    const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
    response.writeHead(200, {
      ...headers,
      'content-type': type,
      ...(isZipped && { 'content-encoding': 'gzip' }),
    })
    response.end(isZipped ? gzipSync(text) : text)
  }

  return {
    host,
    origin,
    feedUrl: `${origin}/feed`,
    publish: (item) => void shown.push(item),
    requests: () => ({ all, unchanged }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}
