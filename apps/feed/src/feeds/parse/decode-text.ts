/** Text of a file, with its detected encoding. */
export interface DecodedText {
  readonly text: string
  /** Name of the encoding in the Encoding Standard. */
  readonly encoding: string
}

/**
 * Decodes a feed's bytes. A byte order mark wins. Otherwise valid UTF-8 is UTF-8, whatever the XML declaration says, because text
 * in another encoding is almost never valid UTF-8 by accident. Then the declared encoding is used, and without one UTF-8 if the file is
 * mostly that, or else windows-1252. Never throws; invalid bytes become U+FFFD.
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const utf32 = decodeUtf32(bytes)
  if (utf32 !== undefined) return utf32
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
  return mostlyUtf8(bytes) ?? decode(bytes, 'windows-1252')
}

/** Decodes UTF-8 with some bad bytes. Returns undefined if no more characters beyond ASCII are valid than are not. */
function mostlyUtf8(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decode(bytes, 'utf-8')
  let bad = 0
  let good = 0
  for (const char of decoded.text) {
    if (char === '\ufffd') bad++
    else if (char > '\u007f') good++
  }
  return good > bad ? decoded : undefined
}

/** Decodes UTF-32, which `TextDecoder` does not know, by its byte order mark or the first `<` or `{`. */
function decodeUtf32(bytes: Uint8Array): DecodedText | undefined {
  if (bytes.length < 4) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isStart = (unit: number): boolean => unit === 0xfeff || unit === 0x3c || unit === 0x7b
  const isLittle = isStart(view.getUint32(0, true))
  if (!isLittle && !isStart(view.getUint32(0))) return undefined
  const chars: string[] = []
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const code = view.getUint32(at, isLittle)
    chars.push(code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? '\ufffd' : String.fromCodePoint(code))
  }
  return { text: chars.join(''), encoding: isLittle ? 'utf-32le' : 'utf-32be' }
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
