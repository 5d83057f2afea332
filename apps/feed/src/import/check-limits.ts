import { Parser } from 'htmlparser2'
import { beyond, DEEPEST, MOST_ATTRIBUTES, MOST_ATTRIBUTES_OF_ONE, MOST_ELEMENTS } from './limits.ts'

/**
 * Counts what is in an XML file, well-formed or not, without building anything of it. Throws `BeyondLimit`. Answers
 * whether the file breaks off: whether an element is still open at its end.
 */
export function checkXmlLimits(source: string): boolean {
  let elements = 0
  let attributes = 0
  let attributesOfOne = 0
  let depth = 0
  const parser = new Parser(
    {
      onopentagname() {
        attributesOfOne = 0
        countElement(++elements)
        countDepth(++depth)
      },
      onattribute() {
        if (++attributes > MOST_ATTRIBUTES) throw beyond('more than # attributes', MOST_ATTRIBUTES)
        if (++attributesOfOne > MOST_ATTRIBUTES_OF_ONE)
          throw beyond('an element of more than # attributes', MOST_ATTRIBUTES_OF_ONE)
      },
      onclosetag() {
        depth--
      },
    },
    { xmlMode: true, decodeEntities: false },
  )
  parser.write(source)
  const breaksOff = depth > 0
  parser.end()
  return breaksOff
}

/** The same for JSON. */
export function checkJsonLimits(source: string): boolean {
  let elements = 0
  let depth = 0
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === '"') at = endOfString(source, at)
    else if (char === '{' || char === '[') {
      countElement(++elements)
      countDepth(++depth)
    } else if (char === '}' || char === ']') depth--
  }
  return depth > 0
}

/** Where the closing quote stands, or the end of the text. */
function endOfString(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === '\\') at++
    else if (char === '"') return at
  }
  return source.length
}

function countElement(elements: number): void {
  if (elements > MOST_ELEMENTS) throw beyond('more than # elements', MOST_ELEMENTS)
}

function countDepth(depth: number): void {
  if (depth > DEEPEST) throw beyond('elements that are nested more than # deep', DEEPEST)
}
