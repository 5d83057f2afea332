import { Parser } from 'htmlparser2'

/** Attribute that holds the address of an element, by the element's name without a prefix. The text of `link` may hold it as well. */
const ADDRESS_IN: Readonly<Record<string, string>> = {
  link: 'href',
  content: 'src',
  enclosure: 'url',
}

/** An address within the scope of an `xml:base`. */
interface Address {
  /** Range of the source to replace. */
  readonly start: number
  readonly end: number
  readonly value: string
  /** The `xml:base` attributes of the element and its ancestors, the outermost first. */
  readonly bases: readonly string[]
  /** Returns the replacement for this range, given the absolute and escaped address. */
  replacement(url: string): string
}

/**
 * Makes addresses within the scope of an `xml:base` absolute, by XML Base and RFC 4287. Each base is relative to the next outer one,
 * and the outermost to the address of the document, which the feed declares by `rel="self"`. Other text stays as it is.
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

/** An open element. */
interface Element {
  readonly bases: readonly string[]
  /** True for an item of the feed and for elements within an item. */
  readonly inItem: boolean
}

interface Collected {
  /** Addresses in the order of the source. */
  readonly addresses: readonly Address[]
  /** The feed's own address, `rel="self"`. */
  readonly self: { readonly value: string; readonly bases: readonly string[] } | undefined
}

function collect(source: string): Collected {
  const addresses: Address[] = []
  let self: Collected['self']
  const stack: Element[] = []
  /** Text of the open `link` element. */
  let text: { start: number; value: string } | undefined

  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const parent = stack.at(-1) ?? { bases: [], inItem: false }
        const base = attributes['xml:base']
        const bases = base === undefined ? parent.bases : [...parent.bases, base.trim()]
        const local = localName(name)
        const inItem = parent.inItem || local === 'item' || local === 'entry'
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

/** Returns a start tag with the value of an attribute replaced. */
function withAttribute(tag: string, name: string, value: string): string {
  const pattern = new RegExp(`(\\s${name}\\s*=\\s*)("[^"]*"|'[^']*')`)
  return tag.replace(pattern, (_, before: string) => `${before}"${value}"`)
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
