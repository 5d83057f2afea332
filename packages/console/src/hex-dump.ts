const A_LINE = 16

/** Bytes in hexadecimal digits, sixteen to a line, with their places before and their letters behind. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += A_LINE) {
    const own = bytes.subarray(at, at + A_LINE)
    const digits = Array.from(own, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const letters = Array.from(own, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'))
    lines.push(`${at.toString(16).padStart(4, '0')}  ${digits.padEnd(A_LINE * 3 - 1)}  ${letters.join('')}`)
  }
  return lines.join('\n')
}
