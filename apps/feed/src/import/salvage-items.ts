/**
 * The items of an XML feed whose frame is broken, such as by an element that is never closed, in a new frame of the same
 * kind. Undefined when there is nothing to save.
 */
export function salvageItems(source: string): string | undefined {
  const root = /<(rss|feed|rdf:RDF)(\s[^>]*)?>/i.exec(source)
  if (root === null) return undefined
  const name = root[1] as string
  const tag = name.toLowerCase() === 'feed' ? 'entry' : 'item'
  const items = cutOut(source, tag)
  if (items === '') return undefined
  const body = name.toLowerCase() === 'rss' ? `<channel>${items}</channel>` : items
  return `${root[0]}${body}</${name}>`
}

function cutOut(source: string, tag: string): string {
  const end = `</${tag}>`
  const parts: string[] = []
  for (let at = source.indexOf(`<${tag}`); at >= 0; at = source.indexOf(`<${tag}`, at)) {
    const close = source.indexOf(end, at)
    if (close < 0) break
    if (/[\s>]/.test(source.charAt(at + tag.length + 1))) parts.push(source.slice(at, close + end.length))
    at = close + end.length
  }
  return parts.join('\n')
}
