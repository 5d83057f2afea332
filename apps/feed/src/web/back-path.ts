/** A path of this site that a form may lead back to; anything else leads home. */
export function backPath(text: string | undefined): string {
  return safePath(text) ?? '/'
}

/** The text as a path of this site; undefined for anything that would lead elsewhere. */
export function safePath(text: string | undefined): string | undefined {
  if (text === undefined || text.length > 2000 || !text.startsWith('/')) return undefined
  const url = URL.parse(text, 'http://here.invalid')
  // A second slash or a backslash would make the browser leave the site.
  if (url === null || url.host !== 'here.invalid' || url.pathname.startsWith('//')) return undefined
  return `${url.pathname}${url.search}${url.hash}`
}
