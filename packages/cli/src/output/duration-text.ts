const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Rounds a duration in milliseconds to a text such as `45 s`, `3 min`, `5 h` or `12 days`. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 99.5 * SECOND) return `${Math.round(milliseconds / SECOND)} s`
  if (milliseconds < 99.5 * MINUTE) return `${Math.round(milliseconds / MINUTE)} min`
  if (milliseconds < 47.5 * HOUR) return `${Math.round(milliseconds / HOUR)} h`
  return `${Math.round(milliseconds / DAY)} days`
}
