import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

/** No form of a console is longer. */
const MAX_BYTES = 4096

/** The fields of a form that was sent. Throws `Refusal` for what no form of a console sends. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw new Refusal(415, 'An act comes from a form of this page, as application/x-www-form-urlencoded.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Refusal(413, `No form of this page is longer than ${MAX_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}
