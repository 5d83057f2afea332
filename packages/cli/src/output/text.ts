/** Replaces control characters by spaces: escape sequences in stored text must not reach the terminal, and a row needs one line. */
export function printable(text: string): string {
  // Colour codes of the command itself stay.
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- this function removes control characters
    /(\u001B\[\d{1,2}m)|[\u0000-\u001F\u007F-\u009F]/g,
    (_, color?: string) => color ?? ' ',
  )
}

/** Shortens a text to `length` characters; a shortened text ends with `…`. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`
}

/** Returns a time such as `2026-11-26 11:20:03`, in UTC. */
export function timeText(date: Date): string {
  return date.toISOString().replace('T', ' ').slice(0, 19)
}
