import type { Node } from 'oxc-parser'
import { bare, type Place } from '../syntax.ts'
import { replace, type Operator } from './operator.ts'

/** Words with a sibling, which is a better mutant than an empty word. */
const SIBLINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    asc: 'desc',
    desc: 'asc',
    building: 'ready',
    ready: 'building',
    retiring: 'dropped',
    dropped: 'retiring',
  }),
)

export const booleans: Operator = (node) =>
  node.type === 'Literal' && typeof node.value === 'boolean' ? [replace(node, String(!node.value))] : []

/**
 * Replaces a word by its sibling, or by none. Compared words belong to the conditions; messages are for
 * people.
 */
export const words: Operator = (node, place) => {
  if (isMessage(node, place) || isCompared(place)) return []
  if (node.type === 'TemplateLiteral') {
    return place.parent.type === 'TaggedTemplateExpression' ? [] : [replace(node, '``')]
  }
  if (node.type !== 'Literal' || typeof node.value !== 'string' || node.value === '') return []
  return [replace(node, `'${SIBLINGS.get(node.value) ?? ''}'`)]
}

export const emptyArrays: Operator = (node) =>
  node.type === 'ArrayExpression' && node.elements.length > 0 ? [replace(node, '[]')] : []

/** Tells whether a node is inside an error, except its code, the first argument. */
function isMessage(node: Node, { ancestors }: Place): boolean {
  let inner = node
  for (const outer of ancestors) {
    if (outer.type === 'NewExpression' && nameOf(outer.callee).endsWith('Error')) {
      return outer.arguments[0] !== inner || node.type === 'TemplateLiteral'
    }
    if (outer.type === 'CallExpression' && /^(?:console|process)\b/.test(nameOf(outer.callee))) return true
    inner = outer
  }
  return false
}

function isCompared({ parent }: Place): boolean {
  return (parent.type === 'BinaryExpression' && parent.operator !== '+') || parent.type === 'SwitchCase'
}

function nameOf(callee: Node): string {
  const node = bare(callee)
  if (node.type === 'Identifier') return node.name
  return node.type === 'MemberExpression' ? nameOf(node.object) : ''
}
