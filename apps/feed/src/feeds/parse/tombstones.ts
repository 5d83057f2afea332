import { Parser } from 'htmlparser2'
import { MAX_ITEMS } from './parsed-feed.ts'

/** Returns the ids of the entries that an Atom feed says it has deleted: `at:deleted-entry` of RFC 6721. */
export function deletedIn(source: string): readonly string[] {
  if (!source.includes('deleted-entry')) return []
  const ids = new Set<string>()
  const parser = new Parser(
    {
      onopentag(name, { ref }) {
        const id = ref?.trim()
        if (/(?:^|:)deleted-entry$/.test(name) && id && ids.size < MAX_ITEMS) ids.add(id)
      },
    },
    { xmlMode: true },
  )
  parser.end(source)
  return [...ids]
}
