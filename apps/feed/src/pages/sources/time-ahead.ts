const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Describes a time in the future, such as “in 40 minutes”. */
export function timeAhead(time: Date, now: Date): string {
  const ms = time.getTime() - now.getTime()
  if (ms < 1.5 * MINUTE) return 'in a minute'
  if (ms < 1.5 * HOUR) return `in ${Math.round(ms / MINUTE)} minutes`
  if (ms < 36 * HOUR) return `in ${Math.round(ms / HOUR)} hours`
  return `in ${Math.round(ms / (24 * HOUR))} days`
}
