import type { Node } from 'oxc-parser'
import type { Place } from '../syntax.ts'
import { operatorOf, replace, type Operator } from './operator.ts'

const BOUNDARY: ReadonlyMap<string, string> = new Map(
  Object.entries({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' }),
)
const COMPARISONS = new Set(['===', '!==', '==', '!=', 'in', 'instanceof', ...BOUNDARY.keys()])

/** Fixes a decision: a guard that is gone, a branch that is never or always taken. */
export const decided: Operator = (node, { parent }) => {
  if (node.type === 'Literal') return []
  switch (parent.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return parent.test === node ? [replace(node, 'true'), replace(node, 'false')] : []
    // A loop that never ends shows nothing more than one that never runs.
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      return parent.test === node ? [replace(node, 'false')] : []
    default:
      return []
  }
}

/** Fixes a truth value that does not decide a branch. */
export const constantTruth: Operator = (node, place) =>
  isTruth(node) && !isOperand(node, place) ? [replace(node, 'true'), replace(node, 'false')] : []

/** Keeps only one side of `&&`, `||` or `??`. */
export const oneSide: Operator = (node, place) => {
  if (node.type !== 'LogicalExpression') return []
  const { start, end } = operatorOf(node, place)
  const left = place.text({ start: node.start, end: start }).trim()
  const right = place.text({ start: end, end: node.end }).trim()
  return [replace(node, `(${left})`), replace(node, `(${right})`)]
}

/** Includes or excludes a bound. */
export const boundary: Operator = (node, place) => {
  if (node.type !== 'BinaryExpression' || isEmptiness(node)) return []
  const other = BOUNDARY.get(node.operator)
  return other === undefined ? [] : [replace(operatorOf(node, place), other)]
}

/** `x.length > 0` with an included bound would always be true. */
function isEmptiness({ left, operator, right }: Extract<Node, { type: 'BinaryExpression' }>): boolean {
  if (operator !== '>' || right.type !== 'Literal' || right.value !== 0) return false
  return (
    left.type === 'MemberExpression' &&
    left.property.type === 'Identifier' &&
    ['length', 'size'].includes(left.property.name)
  )
}

function isTruth(node: Node): boolean {
  if (node.type === 'BinaryExpression') return COMPARISONS.has(node.operator)
  if (node.type === 'UnaryExpression') return node.operator === '!'
  return (
    node.type === 'LogicalExpression' && node.operator !== '??' && isTruth(node.left) && isTruth(node.right)
  )
}

/** Tells whether a condition is part of another one, whose mutants suffice. */
function isOperand(node: Node, { parent }: Place): boolean {
  if (parent.type === 'LogicalExpression') return true
  if (parent.type === 'UnaryExpression') return parent.operator === '!'
  return 'test' in parent && parent.test === node
}
