import { Parser } from 'htmlparser2'
import {
  beyond,
  MAX_ATTRIBUTES,
  MAX_ATTRIBUTES_PER_ELEMENT,
  MAX_DECLARATIONS,
  MAX_DEPTH,
  MAX_ELEMENTS,
} from './limits.ts'

/**
 * Checks an XML file, well-formed or not, against the limits without building a tree. Throws `BeyondLimit`. Returns true if the
 * file is truncated, that is, if an element is still open at its end.
 */
export function checkXmlLimits(source: string): boolean {
  let elements = 0
  let attributes = 0
  let elementAttributes = 0
  let depth = 0
  let declarations = 0
  const parser = new Parser(
    {
      onprocessinginstruction(name) {
        if (name.startsWith('!') && ++declarations > MAX_DECLARATIONS)
          throw beyond('more than # declarations', MAX_DECLARATIONS)
      },
      onopentagname() {
        elementAttributes = 0
        countElement(++elements)
        countDepth(++depth)
      },
      onattribute() {
        if (++attributes > MAX_ATTRIBUTES) throw beyond('more than # attributes', MAX_ATTRIBUTES)
        if (++elementAttributes > MAX_ATTRIBUTES_PER_ELEMENT)
          throw beyond('an element of more than # attributes', MAX_ATTRIBUTES_PER_ELEMENT)
      },
      onclosetag() {
        depth--
      },
    },
    { xmlMode: true, decodeEntities: false },
  )
  parser.write(source)
  const isTruncated = depth > 0
  parser.end()
  return isTruncated
}

/** Does the same for a JSON file. */
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

/** Returns the position of the closing quote, or the end of the text if there is none. */
function endOfString(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at++) {
    const char = source.charAt(at)
    if (char === '\\') at++
    else if (char === '"') return at
  }
  return source.length
}

function countElement(elements: number): void {
  if (elements > MAX_ELEMENTS) throw beyond('more than # elements', MAX_ELEMENTS)
}

function countDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw beyond('elements that are nested more than # deep', MAX_DEPTH)
}
