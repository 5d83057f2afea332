/** Longer addresses are nobody's idea of a link. */
export const LONGEST_LINK = 2000

/**
 * The address of a page on the web in one normal form, so that the same link shared twice is the same string:
 * http or https, absolute (relative ones against `base`), without credentials, tracking parameters and an empty fragment.
 * Undefined for anything else: `javascript:`, `data:`, `mailto:`, no host, too long.
 */
export function webLink(text: string | undefined, base?: string): string | undefined {
  const trimmed = text?.trim()
  if (!trimmed || trimmed.length > LONGEST_LINK) return undefined
  const url = URL.parse(trimmed, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '')
    return undefined
  url.username = ''
  url.password = ''
  const tracking = [...url.searchParams.keys()].filter((name) => /^utm_/i.test(name))
  for (const name of tracking) url.searchParams.delete(name)
  if (url.hash === '') url.hash = ''
  const link = url.href
  return link.length <= LONGEST_LINK ? link : undefined
}

/**
 * An address as it is compared, where it is asked whether two of them are one and the same: whatever the scheme, the
 * default port, a slash at the end and a fragment, and without a scheme.
 */
export function addressKey(link: string): string {
  const { hostname, port, pathname, search } = new URL(link)
  const host = hostname.replace(/\.$/, '')
  const place = port === '' || port === '80' || port === '443' ? host : `${host}:${port}`
  const path = pathname.replace(/\/+$/, '')
  return `${place}${path}${search}`.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase())
}

/** The host that a reader knows a link by. */
export function hostOf(link: string): string {
  return URL.parse(link)?.hostname.replace(/^www\./, '') ?? ''
}
