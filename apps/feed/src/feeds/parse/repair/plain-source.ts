/** A root element with a prefix, behind declarations and comments. */
const PREFIXED_ROOT =
  /^\s*(?:<\?[^>]*\?>\s*|<!--(?:(?!-->)[^])*-->\s*|<!doctype[^>]*>\s*)*<([a-z_][\w.-]*):(rss|feed)[\s>]/i

/** A text with its attributes. Their length is limited, because the search would take quadratic time without. */
const BASE64 =
  /<(title|summary|content|tagline|info|copyright)(\s[^<>]{0,500}?\bmode\s*=\s*(?:"base64"|'base64')[^<>]{0,500})>([a-z\d+/=\s]*)<\/\1\s*>/gi

/** Rewrites the forms of a feed that the parsers do not know: elements with a prefix, and the base64 texts of Atom 0.3. */
export function plainSource(source: string): string {
  return decodeBase64(withoutPrefix(source))
}

function withoutPrefix(source: string): string {
  const prefix = PREFIXED_ROOT.exec(source)?.[1]
  if (prefix === undefined) return source
  const escaped = prefix.replaceAll('.', String.raw`\.`)
  return source.replace(new RegExp(`(</?)${escaped}:`, 'g'), '$1')
}

function decodeBase64(source: string): string {
  return source.replace(BASE64, (_, name: string, attributes: string, encoded: string) => {
    const text = Buffer.from(encoded, 'base64').toString('utf8')
    const others = attributes.replace(/\bmode\s*=\s*(?:"base64"|'base64')/i, 'mode="escaped"')
    return `<${name}${others}>${escapeXml(text)}</${name}>`
  })
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`)
}
