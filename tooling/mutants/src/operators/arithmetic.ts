import type { Node } from 'oxc-parser'
import { bare } from '../syntax.ts'
import { operatorOf, replace, type Operator } from './operator.ts'

const OTHER: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '+': '-',
    '-': '+',
    '*': '/',
    '/': '*',
    '%': '*',
    '**': '*',
  }),
)

/** Off-by-one errors for sums and differences, the opposite operation otherwise. */
export const arithmetic: Operator = (node, place) => {
  if (node.type !== 'BinaryExpression' || isText(node)) return []
  const other = OTHER.get(node.operator)
  if (other === undefined) return []
  const operator = operatorOf(node, place)
  const isOffset = (node.operator === '+' || node.operator === '-') && isNumber(node.right)
  if (!isOffset) return [replace(operator, other)]
  return [replace({ start: operator.start, end: node.end }, '')]
}

/** Replaces `+=` and `??=` by `=`. */
export const assignment: Operator = (node, place) =>
  node.type === 'AssignmentExpression' && node.operator !== '=' ? [replace(operatorOf(node, place), '=')] : []

function isNumber(node: Node): boolean {
  return node.type === 'Literal' && typeof node.value === 'number'
}

function isText(node: Node): boolean {
  const part = bare(node)
  if (part.type === 'TemplateLiteral') return true
  if (part.type === 'Literal') return typeof part.value === 'string'
  return (
    part.type === 'BinaryExpression' && part.operator === '+' && (isText(part.left) || isText(part.right))
  )
}
