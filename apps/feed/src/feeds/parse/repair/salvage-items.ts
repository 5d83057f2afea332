/**
 * Puts the complete items of a broken XML feed into a new frame of the same format. A feed is broken if it is truncated, or has an
 * unclosed element. The head before the items describes the feed and may itself be broken, so both variants are returned: with and
 * without it. Returns undefined if there are no complete items.
 */
export function salvageItems(source: string): { withHead: string; withoutHead: string } | undefined {
  const root = /<(rss|feed|rdf:RDF)(\s[^>]*)?>/i.exec(source)
  if (root === null) return undefined
  const name = root[1] as string
  const tag = name.toLowerCase() === 'feed' ? 'entry' : 'item'
  const items = cutOut(source, tag)
  if (items === undefined) return undefined
  const channel = name.toLowerCase() === 'rss' ? ['<channel>', '</channel>'] : ['', '']
  return {
    withHead: `${source.slice(root.index, items.start)}${items.text}${channel[1]}</${name}>`,
    withoutHead: `${root[0]}${channel[0]}${items.text}${channel[1]}</${name}>`,
  }
}

function cutOut(source: string, tag: string): { text: string; start: number } | undefined {
  const end = `</${tag}>`
  const parts: string[] = []
  let start: number | undefined
  for (let at = source.indexOf(`<${tag}`); at >= 0; at = source.indexOf(`<${tag}`, at)) {
    const close = source.indexOf(end, at)
    if (close < 0) break
    if (/[\s>]/.test(source.charAt(at + tag.length + 1))) {
      parts.push(source.slice(at, close + end.length))
      start ??= at
    }
    at = close + end.length
  }
  return start === undefined ? undefined : { text: parts.join('\n'), start }
}
