import type { Node } from 'oxc-parser'
import { isFunction, type Place } from '../syntax.ts'
import { replace, type Operator } from './operator.ts'

/** A call, an assignment, an early return or a throw that is not there. */
export const removed: Operator = (node, place) => {
  switch (node.type) {
    case 'ExpressionStatement':
      return isWholeGuard(place) ? [] : [replace(node, ';')]
    case 'ReturnStatement':
    case 'ThrowStatement':
    case 'ContinueStatement':
    case 'BreakStatement':
      return isWholeGuard(place) || endsFunction(node, place) ? [] : [replace(node, ';')]
    default:
      return []
  }
}

/** Work that is begun, and not waited for. */
export const unawaited: Operator = (node, { parent }) =>
  node.type === 'AwaitExpression' && parent.type === 'ExpressionStatement'
    ? [replace({ start: node.start, end: node.start + 'await'.length }, 'void')]
    : []

/** All that an `if` without `else` does: its condition being false says the same. */
function isWholeGuard({ parent, ancestors }: Place): boolean {
  if (parent.type === 'IfStatement') return parent.alternate === null
  const outer = ancestors[1]
  return (
    parent.type === 'BlockStatement' &&
    parent.body.length === 1 &&
    outer?.type === 'IfStatement' &&
    outer.alternate === null
  )
}

/** The last statement of a function or of a case; nothing but wrong types would come of its removal. */
function endsFunction(node: Node, { parent, ancestors }: Place): boolean {
  if (parent.type === 'SwitchCase') return true
  const outer = ancestors[1]
  return (
    parent.type === 'BlockStatement' &&
    parent.body.at(-1) === node &&
    outer !== undefined &&
    isFunction(outer)
  )
}
