/** Text of a file, with its detected encoding. */
export interface DecodedText {
  readonly text: string
  /** Name of the encoding in the Encoding Standard. */
  readonly encoding: string
}

/**
 * Decodes a feed's bytes. A byte order mark wins. Otherwise valid UTF-8 is UTF-8, whatever the XML declaration says, because text
 * in another encoding is almost never valid UTF-8 by accident. Then the declared encoding is used, and windows-1252 without one.
 * Never throws; invalid bytes become U+FFFD.
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const marked = byteOrderMark(bytes)
  if (marked !== undefined) return decode(bytes, marked)
  const declared = declaredEncoding(bytes)
  const stateful = declared !== undefined && /^(iso-2022|hz-gb|utf-16|utf-7)/i.test(declared)
  if (!stateful || /^utf-/i.test(declared)) {
    const utf8 = decodeStrictly(bytes)
    if (utf8 !== undefined) return { text: utf8, encoding: 'utf-8' }
  }
  if (declared !== undefined && !/^utf-?(8|16)/i.test(declared)) {
    try {
      return decode(bytes, declared)
    } catch {
      // The declared encoding is unknown.
    }
  }
  return decode(bytes, 'windows-1252')
}

function decode(bytes: Uint8Array, label: string): DecodedText {
  const decoder = new TextDecoder(label)
  return { text: decoder.decode(bytes), encoding: decoder.encoding }
}

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  if ((a === 0xfe && b === 0xff) || (a === 0 && b === 0x3c)) return 'utf-16be'
  if ((a === 0xff && b === 0xfe) || (a === 0x3c && b === 0)) return 'utf-16le'
  return undefined
}

function declaredEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 256)).toString('latin1')
  return /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']/.exec(head)?.[1]
}
