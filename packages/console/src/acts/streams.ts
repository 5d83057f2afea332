import { platformTime } from '@looseleaf/core/internal'
import type { ServerResponse } from 'node:http'

/** Streams of server-sent events to browsers. */
export interface Streams {
  /** Sends the rendered part every second until either side ends the stream. Returns false, and sends nothing, beyond 20 streams. */
  add(response: ServerResponse): boolean
  /** Ends all streams, and refuses new ones. */
  close(): void
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const MAX_STREAMS = 20
const EVERY_MS = 1000

/** Creates streams. Calls `render` once a second for all streams together, and never without a stream. */
export function createStreams(render: () => Promise<string>): Streams {
  const open = new Set<ServerResponse>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function end(response: ServerResponse): void {
    open.delete(response)
    response.end()
  }

  async function send(): Promise<void> {
    try {
      const data = (await render()).replaceAll(/\r\n?|\n/g, '\ndata: ')
      // A client that does not read gets no more data until it has drained.
      for (const response of open) if (!response.writableNeedDrain) response.write(`data: ${data}\n\n`)
    } catch {
      // A reload of the page shows the error.
      for (const response of open) end(response)
    }
    timer = undefined
    schedule()
  }

  function schedule(): void {
    if (isClosed || timer !== undefined || open.size === 0) return
    timer = platformTime.setTimeout(() => void send(), EVERY_MS).unref()
  }

  return {
    add(response) {
      if (isClosed || open.size >= MAX_STREAMS) return false
      open.add(response)
      response.once('close', () => open.delete(response))
      // A client that has gone causes an error, which is followed by `close`.
      response.on('error', () => open.delete(response))
      response.writeHead(200, HEADERS).flushHeaders()
      schedule()
      return true
    },
    close() {
      isClosed = true
      platformTime.clearTimeout(timer)
      for (const response of open) end(response)
    },
  }
}
