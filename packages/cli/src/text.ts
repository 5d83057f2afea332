/** Stored text may hold escape sequences, which have no business on a terminal; and a row stays on its line. */
export function printable(text: string): string {
  // Colour codes that the command has put there itself are let through.
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- control characters are what this is about
    /(\u001B\[\d{1,2}m)|[\u0000-\u001F\u007F-\u009F]/g,
    (_, color?: string) => color ?? ' ',
  )
}

/** The first characters of a text, with a sign where more was. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`
}

/** `1,234`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** `1,234 entities`, `1 entity`. */
export function counted(count: number, one: string, many: string): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}
