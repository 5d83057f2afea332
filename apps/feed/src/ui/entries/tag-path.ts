/** Returns the path of the page of a tag. */
export function tagPath(tag: string): string {
  return `/tags/${encodeURIComponent(tag.replace(/^#/, '').toWellFormed())}`
}
