/** Matches each character that is not a `Char` of XML 1.0. Most parsers reject a whole document with one of these. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** Replaces characters that XML forbids even when escaped by U+FFFD. */
export function withXmlCharacters(xml: string): string {
  return xml.replace(FORBIDDEN, '\ufffd')
}
