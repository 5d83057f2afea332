const LINE_BYTES = 16

/** Formats bytes as a hex dump: lines of an offset, sixteen bytes in hexadecimal digits, and their ASCII characters. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let offset = 0; offset < bytes.length; offset += LINE_BYTES) {
    const row = bytes.subarray(offset, offset + LINE_BYTES)
    const digits = Array.from(row, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const letters = Array.from(row, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'))
    lines.push(
      `${offset.toString(16).padStart(4, '0')}  ${digits.padEnd(LINE_BYTES * 3 - 1)}  ${letters.join('')}`,
    )
  }
  return lines.join('\n')
}
