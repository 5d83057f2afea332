const DAY = 24 * 60 * 60 * 1000
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Languages whose names of months some feeds write. A name that means two months in two of them is in the first one's sense. */
const LANGUAGES = [
  'pt',
  'es',
  'de',
  'fr',
  'it',
  'nl',
  'sv',
  'da',
  'nb',
  'pl',
  'cs',
  'tr',
  'id',
  'ca',
  'ro',
  'hu',
]
const ZONE = /(?:z|[a-z]{1,5}|[+-]\d{1,2}:?\d{2})(?:\s*\([^)]*\))?$/i
const RFC_822 =
  /^(?:\p{L}+\.?,?\s+)?(\d{1,2})[\s-]+(\p{L}{3,12})\.?[\s-]+(\d{4}|\d{2})(?!\d)(?:,?\s+(\d{1,2}):?(\d{2})(?::(\d{1,2}))?)?/iu

/**
 * Parses the date of a feed in any common format. Returns undefined for invalid dates, and for those before 1970 or more than a day
 * after `now`. Later dates within that day order the items of a feed, see `storeItems`. A date with a missing or unknown zone is UTC, so
 * the result does not depend on the zone of the machine.
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
    /^(\d{4}-\d{2}(?:-\d{2})?)(?:[T\s]+(\d{1,2}:\d{2}(?::\d{1,2}(?:[.,]\d+)?)?)\s*(z|[+-]\d{2}:?\d{2})?.*)?$/i.exec(
      text,
    )
  if (match === null) return undefined
  const [, date, clock, zone] = match
  if (clock === undefined) return Date.parse(date as string)
  const parts = clock.replace(',', '.').split(':')
  const offset =
    zone === undefined ? 'Z' : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  // A part may have one digit, as in 9:05:7.5.
  return Date.parse(`${date}T${parts.map((part) => part.replace(/^\d(?!\d)/, '0$&')).join(':')}${offset}`)
}

function parseRfc822(text: string): number | undefined {
  const match = RFC_822.exec(text)
  if (match === null) return undefined
  const month = monthOf(match[2] as string)
  if (month === undefined) return undefined
  const short = Number(match[3])
  const year = (match[3] as string).length === 4 ? short : short < 70 ? 2000 + short : 1900 + short
  const day = Number(match[1])
  const time = Date.UTC(year, month, day, Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0))
  // `Date.UTC` turns 31 February into a day in March.
  if (new Date(Date.UTC(year, month, day)).getUTCDate() !== day) return Number.NaN
  return time - zoneOffset(text.slice(match[0].length))
}

/** Names of months in other languages than English, short and long; made at the first use. */
let foreignMonths: ReadonlyMap<string, number> | undefined

function monthOf(name: string): number | undefined {
  const plain = plainName(name)
  const english = MONTHS.indexOf(plain.slice(0, 3))
  foreignMonths ??= namesOfMonths()
  // A foreign name may begin like an English one, so a whole name counts before a beginning.
  return foreignMonths.get(plain) ?? (english < 0 ? foreignMonths.get(plain.slice(0, 3)) : english)
}

function namesOfMonths(): ReadonlyMap<string, number> {
  const names = new Map<string, number>(MONTHS.map((name, month) => [name, month]))
  const add = (name: string, month: number): void => void (names.has(name) || names.set(name, month))
  for (const language of LANGUAGES) {
    for (const width of ['short', 'long'] as const) {
      const format = new Intl.DateTimeFormat(language, { month: width, day: 'numeric', timeZone: 'UTC' })
      for (let month = 0; month < 12; month++) {
        const parts = format.formatToParts(Date.UTC(2001, month, 1))
        const name = plainName(parts.find(({ type }) => type === 'month')?.value ?? '')
        if (name.length < 3) continue
        add(name, month)
        add(name.slice(0, 3), month)
      }
    }
  }
  return names
}

/** Removes accents and dots from a name, and writes it in lower case. */
function plainName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^\p{L}]/gu, '')
    .toLowerCase()
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
