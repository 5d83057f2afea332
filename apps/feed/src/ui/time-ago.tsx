import type { JSX } from 'preact'
import { UNDATED_BEFORE } from '../domain/entries/entries.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' })
const DATE_AND_YEAR = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** A time in words, with the exact time for machines and as a tooltip. Entries of feeds without dates have none. */
export function TimeAgo({ time, now }: { readonly time: Date; readonly now: Date }): JSX.Element {
  if (time.getTime() < UNDATED_BEFORE) return <>undated</>
  return (
    <time dateTime={time.toISOString()} title={`${EXACT.format(time)} UTC`}>
      {timeAgo(time, now)}
    </time>
  )
}

export function timeAgo(time: Date, now: Date): string {
  const age = now.getTime() - time.getTime()
  if (age < MINUTE) return 'just now'
  if (age < HOUR) return ago(Math.floor(age / MINUTE), 'minute')
  if (age < DAY) return ago(Math.floor(age / HOUR), 'hour')
  if (age < 2 * DAY) return 'yesterday'
  if (age < 14 * DAY) return ago(Math.floor(age / DAY), 'day')
  return time.getUTCFullYear() === now.getUTCFullYear() ? DATE.format(time) : DATE_AND_YEAR.format(time)
}

function ago(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'} ago`
}
