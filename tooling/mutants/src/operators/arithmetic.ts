import type { Node } from 'oxc-parser'
import { bare } from '../syntax.ts'
import { replace, type Operator } from './operator.ts'

const OTHER: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
}

/** Off by one where a number is added or taken away; otherwise the opposite operation. */
export const arithmetic: Operator = (node, { text }) => {
  if (node.type !== 'BinaryExpression' || isText(node)) return []
  const other = OTHER[node.operator]
  if (other === undefined) return []
  const isOffset = (node.operator === '+' || node.operator === '-') && isNumber(node.right)
  return [replace(node, isOffset ? text(node.left) : `${text(node.left)} ${other} ${text(node.right)}`)]
}

/** `+=` that forgets what was there, and `??=` that does not look. */
export const assignment: Operator = (node, { text }) =>
  node.type === 'AssignmentExpression' && node.operator !== '='
    ? [replace(node, `${text(node.left)} = ${text(node.right)}`)]
    : []

function isNumber(node: Node): boolean {
  return node.type === 'Literal' && typeof node.value === 'number'
}

function isText(node: Node): boolean {
  const part = bare(node)
  if (part.type === 'TemplateLiteral') return true
  if (part.type === 'Literal') return typeof part.value === 'string'
  return part.type === 'BinaryExpression' && part.operator === '+' && (isText(part.left) || isText(part.right))
}
