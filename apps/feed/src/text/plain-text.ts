import sanitizeHtml from 'sanitize-html'

/** Length of a title within an accessible name, such as “Comment on …”, in UTF-16 units. Screen readers read names aloud in full. */
export const NAME_LENGTH = 40

/** Longer input is cut before parsing, in UTF-16 units. */
const MAX_INPUT_LENGTH = 200_000
const BLOCK_END = /<(?:br|hr|\/p|\/div|\/li|\/ul|\/ol|\/h[1-6]|\/blockquote|\/pre|\/tr|\/table|\/figure)\b/gi

/** Begins the text of a writer that escapes its markup twice. */
const ESCAPED_TWICE = /^\s*&lt;(?:!--|(p|div|table|ul|ol|h[1-6]|blockquote)\b[^]*&lt;\/\1&gt;)/i

/**
 * Converts HTML to the visible text with line breaks, of at most `limit` characters. Scripts and styles are dropped with their
 * content. The result is plain text, so a page has to escape it.
 */
export function plainTextOf(html: string, limit: number): string {
  const input = html.slice(0, MAX_INPUT_LENGTH)
  const markup = ESCAPED_TWICE.test(input) ? unescapeHtml(input) : input
  const stripped = sanitizeHtml(markup.replace(BLOCK_END, '\n$&'), {
    allowedTags: [],
    allowedAttributes: {},
    disallowedTagsMode: 'discard',
    nonTextTags: ['script', 'style', 'textarea', 'option', 'noscript', 'iframe', 'head', 'template'],
  })
  return tidyText(unescapeHtml(stripped), limit)
}

/** Text that shows nothing. Unlike white space, such characters also join others, as in many emoji. */
const INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u

/**
 * Normalizes text for storing: removes control characters and lone surrogates, folds blank lines, and cuts it at a word with an
 * ellipsis. Returns '' if nothing of the text is visible.
 */
export function tidyText(text: string, limit: number): string {
  const tidy = text
    .toWellFormed()
    .replace(/\r\n?|\u2028|\u2029/g, '\n')
    // eslint-disable-next-line no-control-regex -- control characters are what this removes
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return INVISIBLE.test(tidy) ? '' : cutAtWord(tidy, limit)
}

/** Normalizes text to one line. */
export function tidyLine(text: string, limit: number): string {
  return cutAtWord(tidyText(text, Infinity).replace(/\s+/g, ' '), limit)
}

function cutAtWord(text: string, limit: number): string {
  if (text.length <= limit) return text
  const cut = text.slice(0, limit - 1)
  const space = cut.search(/\s\S*$/)
  return `${(space > limit / 2 ? cut.slice(0, space) : cut)
    .trimEnd()
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`
}

/** Decodes the escapes that the sanitizer writes. */
function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '')
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' }
