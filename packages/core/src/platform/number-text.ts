/* Numbers as texts for people. */

/** Returns a number such as `1,234`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** Returns a number with its noun, such as `1,234 entities` or `1 entity`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${grouped(count)} ${count === 1 ? singular : plural}`
}

/** Returns a measured number, rounded to a text such as `0.4`, `99.9`, `100` or `1,234`. */
export function decimal(value: number): string {
  return value < 99.95 ? value.toFixed(1) : grouped(Math.round(value))
}

const UNITS = ['kB', 'MB', 'GB', 'TB']

/** Returns a text such as `812 bytes` or `3.4 MB`. */
export function bytesText(bytes: number): string {
  if (Math.round(bytes) < 1_000) return counted(Math.round(bytes), 'byte')
  let value = bytes / 1_000
  let unit = 0
  for (; Math.round(value) >= 1_000 && unit < UNITS.length - 1; unit++) value /= 1_000
  return `${decimal(value)} ${UNITS[unit]}`
}

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
