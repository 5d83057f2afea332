import { Parser } from 'htmlparser2'
import { CHALLENGE } from './failure.ts'

const HTML = /<(?:!doctype\s+html|html|head|body)[\s>]/i

/** Returns the text of a web page; undefined for bytes that are something else. The declared type of an answer is often wrong. */
export function webPageOf(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder().decode(bytes.subarray(0, 5000))
  return HTML.test(start) && !/<(?:rss|feed|rdf:RDF|opml)[\s>]/i.test(start)
    ? new TextDecoder().decode(bytes.subarray(0, MAX_PAGE_BYTES))
    : undefined
}

/** Feeds are named in the head of a page. */
const MAX_PAGE_BYTES = 1024 * 1024

/** Says why there is a web page in place of a feed. */
export function reasonOfPage(html: string): string {
  if (
    /<title>\s*(?:just a moment|attention required|checking your browser)|\/cdn-cgi\/challenge-platform\//i.test(
      html,
    )
  )
    return CHALLENGE
  if (asksForPassword(html)) return 'It answers with a page to sign in, and not with a feed.'
  return 'It answers with a web page, and not with a feed.'
}

function asksForPassword(html: string): boolean {
  let asks = false
  const parser = new Parser({
    onopentag(name, { type = '' }) {
      asks ||= name === 'input' && type.toLowerCase() === 'password'
    },
  })
  parser.end(html)
  return asks
}
