import type { Change } from '../mutant.ts'
import type { Operator } from './operator.ts'

/** Words of a statement and their replacements. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/ AND /g, ' OR '],
  [/ OR /g, ' AND '],
  [/ <= /g, ' < '],
  [/ >= /g, ' > '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
  [/ IN /g, ' NOT IN '],
  [/ DESC\b/g, ''],
  [/\bORDER BY (?=[a-z])/g, 'ORDER BY -'],
  [/\bLOCK IN SHARE MODE\b/g, ''],
  [/\bDISTINCT /g, ''],
  [/\bUNION ALL\b/g, 'UNION'],
  [/\bid = 1\b/g, 'id = 2'],
]

/** Changes a word of a statement. */
export const statementText: Operator = (node, { text }) => {
  if (node.type !== 'TaggedTemplateExpression' || !/^sql\b/.test(text(node.tag))) return []
  return node.quasi.quasis.flatMap((quasi) => {
    const words = text(quasi)
    return WORDS.flatMap(([pattern, other]) =>
      [...words.matchAll(pattern)].map((found): Change => {
        const start = quasi.start + found.index
        return { start, end: start + found[0].length, replacement: other }
      }),
    )
  })
}

/** Functions that are named in strings. */
const FUNCTIONS: ReadonlyMap<string, string> = new Map(Object.entries({ GREATEST: 'LEAST', MAX: 'MIN' }))

export const functionNames: Operator = (node) => {
  if (node.type !== 'Literal' || typeof node.value !== 'string') return []
  const other = FUNCTIONS.get(node.value)
  return other === undefined ? [] : [{ start: node.start, end: node.end, replacement: `'${other}'` }]
}
