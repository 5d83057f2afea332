import { platformTime } from '@looseleaf/core'
import { on } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

/** No form of a console is longer. */
const MAX_BYTES = 4096
/** How long one may take to arrive, in milliseconds. */
const LIMIT_MS = 5000

/** The fields of a form that was sent. Throws `Refusal` for what no form of a console sends, and for one that takes longer than `limitMs`. */
export async function readForm(
  request: IncomingMessage,
  limitMs: number = LIMIT_MS,
): Promise<URLSearchParams> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new Refusal(415, 'An act comes from a form of this page, as application/x-www-form-urlencoded.')
  const chunks: Buffer[] = []
  let bytes = 0
  const signal = platformTime.abortAfter(limitMs)
  try {
    // The stream itself is left open, so that the refusal can be answered on its connection.
    for await (const [chunk] of on(request, 'data', { signal, close: ['end'] }) as AsyncIterable<[Buffer]>) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) throw new Refusal(413, `No form of this page is longer than ${MAX_BYTES} bytes.`)
      chunks.push(chunk)
    }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Refusal(408, `A form has to arrive within ${limitMs / 1000} seconds.`)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}
