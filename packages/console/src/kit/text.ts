import { counted as countedInDigits, decimal } from '@looseleaf/core/internal'

export { bytesText, durationText } from '@looseleaf/core/internal'

/** Returns a number with its noun for a sentence, with one as a word: `one row` or `1,200 rows`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return count === 1 ? `one ${singular}` : countedInDigits(count, singular, plural)
}

/** Returns a text with a capital, for the beginning of a sentence: `One row` for `one row`. */
export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** Returns a text such as `0.42 ms`, `12.3 ms` or `1,200 ms`. */
export function milliseconds(value: number): string {
  return `${value < 0.995 ? value.toFixed(2) : decimal(value)} ms`
}

/** Returns the first `limit` items of a list, and a note with the number of the others; empty without others. */
export function cut<T>(
  list: readonly T[],
  limit: number,
  singular: string,
  plural = `${singular}s`,
): { shown: readonly T[]; note: string } {
  const hidden = list.length - limit
  return hidden <= 0
    ? { shown: list, note: '' }
    : {
        shown: list.slice(0, limit),
        note: `${capital(counted(hidden, `more ${singular}`, `more ${plural}`))} not shown.`,
      }
}

/** Returns a text such as `2030-01-31 23:59:59 UTC`. */
export function timeText(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Returns a text such as `2030-01-31 23:59:59.123 UTC`, for times of writes, many of which fall in one second. */
export function exactTimeText(at: Date): string {
  return `${at.toISOString().slice(0, 23).replace('T', ' ')} UTC`
}
