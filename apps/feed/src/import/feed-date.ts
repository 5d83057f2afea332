const DAY = 24 * 60 * 60 * 1000
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const ZONE = /(?:z|[a-z]{1,5}|[+-]\d{1,2}:?\d{2})(?:\s*\([^)]*\))?$/i
const RFC_822 =
  /^(?:[a-z]+\.?,?\s+)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{4}|\d{2})(?!\d)(?:,?\s+(\d{1,2}):?(\d{2})(?::(\d{2}))?)?/i

/**
 * Parses the date of a feed in any common format. Returns undefined for invalid dates, and for those before 1970 or more than a day
 * after `now`: an entry from the future would stay on top for ever. A date with a missing or unknown zone is UTC, so the result does
 * not depend on the zone of the machine.
 */
export function feedDate(text: string | undefined, now: Date): Date | undefined {
  const trimmed = text?.trim().slice(0, 80)
  if (!trimmed || !/\d/.test(trimmed)) return undefined
  const time = parseIso(trimmed) ?? parseRfc822(trimmed) ?? parseLoosely(trimmed)
  if (Number.isNaN(time) || time < 0 || time > now.getTime() + DAY) return undefined
  return new Date(time)
}

/** Like `parseRfc822`, returns undefined for text in another format, and NaN for a day that does not exist. */
function parseIso(text: string): number | undefined {
  const match =
    /^(\d{4}-\d{2}(?:-\d{2})?)(?:[T\s]+(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s*(z|[+-]\d{2}:?\d{2})?.*)?$/i.exec(
      text,
    )
  if (match === null) return undefined
  const [, date, clock, zone] = match
  if (clock === undefined) return Date.parse(date as string)
  const [hour, ...rest] = clock.replace(',', '.').split(':')
  const offset =
    zone === undefined ? 'Z' : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  return Date.parse(`${date}T${(hour as string).padStart(2, '0')}:${rest.join(':')}${offset}`)
}

function parseRfc822(text: string): number | undefined {
  const match = RFC_822.exec(text)
  if (match === null) return undefined
  const month = MONTHS.indexOf((match[2] as string).toLowerCase())
  if (month < 0) return undefined
  const short = Number(match[3])
  const year = (match[3] as string).length === 4 ? short : short < 70 ? 2000 + short : 1900 + short
  const day = Number(match[1])
  const time = Date.UTC(year, month, day, Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0))
  // `Date.UTC` turns 31 February into a day in March.
  if (new Date(Date.UTC(year, month, day)).getUTCDate() !== day) return Number.NaN
  return time - zoneOffset(text.slice(match[0].length))
}

const ZONE_HOURS: Record<string, number> = {
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  cet: 1,
  cest: 2,
  bst: 1,
}

function zoneOffset(rest: string): number {
  const match = /^\s*(?:([+-])(\d{1,2}):?(\d{2})|([a-z]{1,5}))/i.exec(rest)
  if (match === null) return 0
  if (match[4] !== undefined) return (ZONE_HOURS[match[4].toLowerCase()] ?? 0) * 3_600_000
  const minutes = Number(match[2]) * 60 + Number(match[3])
  return (match[1] === '-' ? -minutes : minutes) * 60_000
}

function parseLoosely(text: string): number {
  const time = Date.parse(ZONE.test(text) ? text : `${text} UTC`)
  return Number.isNaN(time) ? Date.parse(`${text.replace(ZONE, '')} UTC`) : time
}
