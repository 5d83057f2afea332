/** Longer addresses are dropped. */
export const MAX_LINK_LENGTH = 2000

/**
 * Normalizes a web address, so that equal links are equal strings: resolves it against `base`, and removes credentials, tracking
 * parameters and an empty fragment. Returns undefined for anything but http and https, for an address without a host, and for one
 * that is too long.
 */
export function webLink(text: string | undefined, base?: string): string | undefined {
  const trimmed = text?.trim()
  if (!trimmed || trimmed.length > MAX_LINK_LENGTH) return undefined
  const url = URL.parse(trimmed, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '')
    return undefined
  url.username = ''
  url.password = ''
  const kept = [...url.searchParams].filter(([name]) => !/^utm_/i.test(name))
  // Deleting parameters one by one would write the address again for each.
  if (kept.length < url.searchParams.size) url.search = new URLSearchParams(kept).toString()
  if (url.hash === '') url.hash = ''
  const link = url.href
  return link.length <= MAX_LINK_LENGTH ? link : undefined
}

/** A punctuation mark in a typed host is a slip of the keyboard: a URL may contain it, but no host name does. */
const TYPED_HOST = /^[\w.-]+$|^\[/

/** Returns the link that a person typed. People often leave out the scheme of an address. Undefined if it is none. */
export function typedLink(text: string): string | undefined {
  const typed = text.trim()
  if (/\s/.test(typed)) return undefined
  const link = webLink(/^[a-z][a-z0-9+.-]*:/i.test(typed) ? typed : `https://${typed}`)
  return link !== undefined && TYPED_HOST.test(new URL(link).hostname) ? link : undefined
}

/**
 * Returns a key that is equal for addresses of the same page. It leaves out the scheme, a default port, slashes at the end and the
 * fragment.
 */
export function addressKey(link: string): string {
  const { hostname, port, pathname, search } = new URL(link)
  const host = hostname.replace(/\.$/, '')
  const place = port === '' || port === '80' || port === '443' ? host : `${host}:${port}`
  const path = pathname.replace(/\/+$/, '')
  return `${place}${path}${search}`.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase())
}

/** Returns the host of a link without `www.`, for people. */
export function hostOf(link: string): string {
  return URL.parse(link)?.hostname.replace(/^www\./, '') ?? ''
}
