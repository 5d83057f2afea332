import { platformTime } from '@looseleaf/core'
import type { ServerResponse } from 'node:http'

/** Browsers that look on, each by a stream of server-sent events. */
export interface Streams {
  /** Sends to it what is to be seen, again and again until either side ends it; false, and nothing is sent, where there are too many. */
  add(response: ServerResponse): boolean
  /** Ends all, for good. */
  close(): void
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const MOST = 20
const EVERY_MS = 1000

/** `render` is asked once for all streams, and not at all while there are none. */
export function createStreams(render: () => Promise<string>): Streams {
  const open = new Set<ServerResponse>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function end(response: ServerResponse): void {
    open.delete(response)
    response.end()
  }

  async function tell(): Promise<void> {
    try {
      const data = (await render()).replaceAll(/\r\n?|\n/g, '\ndata: ')
      // A client that does not read what it was sent is not sent more.
      for (const response of open) if (!response.writableNeedDrain) response.write(`data: ${data}\n\n`)
    } catch {
      // The page itself says why, to those who load it again.
      for (const response of open) end(response)
    }
    timer = undefined
    next()
  }

  function next(): void {
    if (isClosed || timer !== undefined || open.size === 0) return
    // It keeps no process alive.
    timer = platformTime.setTimeout(() => void tell(), EVERY_MS).unref()
  }

  return {
    add(response) {
      if (isClosed || open.size >= MOST) return false
      open.add(response)
      response.once('close', () => open.delete(response))
      // Of a client that is gone; it is closed after that.
      response.on('error', () => open.delete(response))
      response.writeHead(200, HEADERS).flushHeaders()
      next()
      return true
    },
    close() {
      isClosed = true
      platformTime.clearTimeout(timer)
      for (const response of open) end(response)
    },
  }
}
