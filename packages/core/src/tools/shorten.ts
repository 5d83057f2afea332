/**
 * Shortens a text for people to `length` UTF-16 units. A shortened text ends with `…` after a whole word, or inside a word that
 * takes more than half of the length.
 */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const lastSpace = text.lastIndexOf(' ', length - 2)
  if (lastSpace >= length / 2) return `${text.slice(0, lastSpace).trimEnd()} …`
  // Never ends with half of a surrogate pair.
  return `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
