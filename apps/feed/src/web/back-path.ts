/** A path of this site that a form may lead back to; anything else leads home. */
export function backPath(text: string | undefined): string {
  if (text === undefined || text.length > 2000 || !text.startsWith('/')) return '/'
  const url = URL.parse(text, 'http://here.invalid')
  // A second slash or a backslash would make the browser leave the site.
  if (url === null || url.host !== 'here.invalid' || url.pathname.startsWith('//')) return '/'
  return `${url.pathname}${url.search}${url.hash}`
}
