const SECOND = 1000

/** Returns the `max-age` of a Cache-Control header in milliseconds; 0 if it has none, or forbids caching. */
export function freshMs(cacheControl: string | null): number {
  if (cacheControl === null || /\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /(?:^|[\s,])max-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1]
  return Number(seconds ?? 0) * SECOND
}

/** Returns the wait that a Retry-After header asks for, in milliseconds; undefined without one. It is a number of seconds, or a date. */
export function retryAfterMs(retryAfter: string | null, now: Date): number | undefined {
  const text = retryAfter?.trim()
  if (!text) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime())
}
