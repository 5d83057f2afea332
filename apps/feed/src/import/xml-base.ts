import { Parser } from 'htmlparser2'

/** Elements whose address stands in an attribute, by their names without a prefix. In `link` it may be the text, too. */
const ADDRESS_IN: Readonly<Record<string, string>> = {
  link: 'href',
  content: 'src',
  enclosure: 'url',
}

/** An address that an `xml:base` is in force for. */
interface Address {
  /** The stretch of the source that is to be replaced. */
  readonly start: number
  readonly end: number
  readonly value: string
  /** The `xml:base` of the element and of those around it, the outermost one first. */
  readonly bases: readonly string[]
  /** What stands in its place when it has become `url`, escaped. */
  replacement(url: string): string
}

/**
 * Makes the addresses of a feed absolute wherever an `xml:base` is in force, as XML Base and RFC 4287 say: each base is
 * itself relative to the one around it, and the outermost to the document's address, which is what the feed gives as its
 * own (`rel="self"`). All else is left as it is.
 */
export function resolveXmlBase(source: string): string {
  if (!/\bxml:base\b/i.test(source)) return source
  const { addresses, self } = collect(source)
  const document = self === undefined ? undefined : absolute(self.value, self.bases, undefined)
  let resolved = ''
  let done = 0
  for (const { start, end, value, bases, replacement } of addresses) {
    const url = absolute(value, bases, document)
    if (url === undefined || start < done) continue
    resolved += source.slice(done, start) + replacement(escapeXml(url))
    done = end
  }
  return resolved + source.slice(done)
}

/** An element that is open. */
interface Element {
  readonly bases: readonly string[]
  /** Whether it is an item of the feed, or within one. */
  readonly inItem: boolean
}

interface Collected {
  /** In the order of the source. */
  readonly addresses: readonly Address[]
  /** The address that the feed gives as its own. */
  readonly self: { readonly value: string; readonly bases: readonly string[] } | undefined
}

function collect(source: string): Collected {
  const addresses: Address[] = []
  let self: Collected['self']
  const stack: Element[] = []
  /** The text of a `link` that is open. */
  let text: { start: number; value: string } | undefined

  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const around = stack.at(-1) ?? { bases: [], inItem: false }
        const own = attributes['xml:base']
        const bases = own === undefined ? around.bases : [...around.bases, own.trim()]
        const local = localName(name)
        const inItem = around.inItem || local === 'item' || local === 'entry'
        stack.push({ bases, inItem })
        const attribute = ADDRESS_IN[local]
        const value = attribute === undefined ? undefined : attributes[attribute]
        text = undefined
        if (attribute !== undefined && value !== undefined) {
          if (local === 'link' && attributes['rel'] === 'self' && !inItem) self ??= { value, bases }
          if (bases.length === 0) return
          const tag = source.slice(parser.startIndex, parser.endIndex + 1)
          addresses.push({
            start: parser.startIndex,
            end: parser.endIndex + 1,
            value,
            bases,
            replacement: (url) => withAttribute(tag, attribute, url),
          })
        } else if (local === 'link' && bases.length > 0) {
          text = { start: parser.endIndex + 1, value: '' }
        }
      },
      ontext(data) {
        if (text !== undefined) text.value += data
      },
      onclosetag(name) {
        const { bases } = stack.pop() ?? { bases: [] }
        if (text !== undefined && localName(name) === 'link' && text.value.trim() !== '') {
          const { start, value } = text
          addresses.push({ start, end: parser.startIndex, value, bases, replacement: (url) => url })
        }
        text = undefined
      },
    },
    { xmlMode: true },
  )
  parser.end(source)
  return { addresses, self }
}

function absolute(value: string, bases: readonly string[], document: string | undefined): string | undefined {
  let base = document
  for (const next of bases) base = URL.parse(next, base)?.href ?? base
  return URL.parse(value.trim(), base)?.href
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1).toLowerCase()
}

/** A start tag with another value of an attribute. */
function withAttribute(tag: string, name: string, value: string): string {
  const there = new RegExp(`(\\s${name}\\s*=\\s*)("[^"]*"|'[^']*')`)
  return tag.replace(there, (_, before: string) => `${before}"${value}"`)
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
