import { Parser } from 'htmlparser2'

/** Makes a truncated XML file well-formed: drops an incomplete tag at the end, and closes every open element. */
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
