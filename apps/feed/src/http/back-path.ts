/** Returns the path that a form redirects to: the given one if it is on this site, otherwise the home page. */
export function backPath(text: string | undefined): string {
  return safePath(text) ?? '/'
}

/** Returns the text if it is a path of this site; undefined if it would lead elsewhere. */
export function safePath(text: string | undefined): string | undefined {
  if (text === undefined || text.length > 2000 || !text.startsWith('/')) return undefined
  const url = URL.parse(text, 'http://here.invalid')
  // A browser would read a second slash or a backslash as the begin of another host.
  if (url === null || url.host !== 'here.invalid' || url.pathname.startsWith('//')) return undefined
  return `${url.pathname}${url.search}${url.hash}`
}
