/** Formats a number with its noun: 1 entry, 2 entries. */
export function counted(number: number, noun: string): string {
  const plural = number === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${number} ${plural}`
}
