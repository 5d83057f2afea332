import { createHash } from 'node:crypto'
import { STYLE } from '../kit/style.ts'

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

type Headers = Readonly<Record<string, string>>

const headersOf = (more: string): Headers => ({
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'${more}`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
})

/** Headers of a page that runs no script and loads nothing. */
export const pageHeaders: Headers = headersOf('')

/** Returns the headers of a page with one script, which may connect to this server. */
export function headersWith({ scriptHash }: { readonly scriptHash: string }): Headers {
  return headersOf(`; script-src 'sha256-${scriptHash}'; connect-src 'self'`)
}
