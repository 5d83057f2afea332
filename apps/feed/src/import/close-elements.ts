import { Parser } from 'htmlparser2'

/** An XML file that breaks off, without the tag that it breaks off in, and with an end for every element that is open. */
export function closeElements(source: string): string {
  const open: string[] = []
  let end = 0
  const parser = new Parser(
    {
      onopentag(name) {
        open.push(name)
        end = parser.endIndex + 1
      },
      onclosetag() {
        open.pop()
        end = parser.endIndex + 1
      },
    },
    { xmlMode: true, decodeEntities: false },
  )
  parser.write(source)
  const ends = open.toReversed().map((name) => `</${name}>`)
  return source.slice(0, end) + ends.join('')
}
