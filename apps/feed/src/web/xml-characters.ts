/** Everything that is no `Char` of XML 1.0; most parsers refuse a whole document for one of these. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** A document with U+FFFD in place of the characters that XML cannot hold, not even escaped. */
export function withXmlCharacters(xml: string): string {
  return xml.replace(FORBIDDEN, '\ufffd')
}
