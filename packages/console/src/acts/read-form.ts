import { platformTime } from '@looseleaf/core/internal'
import { on } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

const MAX_BYTES = 4096
/** Time limit for the arrival of a form, in milliseconds. */
const LIMIT_MS = 5000

/** Reads the fields of a form. Throws `Refusal` for another content type, a larger body, or one that takes longer than `limitMs`. */
export async function readForm(
  request: IncomingMessage,
  limitMs: number = LIMIT_MS,
): Promise<URLSearchParams> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new Refusal(
      415,
      'An act must be sent by a form of this page, as application/x-www-form-urlencoded.',
    )
  const chunks: Buffer[] = []
  let bytes = 0
  const signal = platformTime.abortAfter(limitMs)
  try {
    // `on` does not destroy the request at its end, so a refusal can still be sent on the connection.
    for await (const [chunk] of on(request, 'data', { signal, close: ['end'] }) as AsyncIterable<[Buffer]>) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) throw new Refusal(413, `No form of this page is longer than ${MAX_BYTES} bytes.`)
      chunks.push(chunk)
    }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Refusal(408, `A form must arrive within ${limitMs / 1000} seconds.`)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}
