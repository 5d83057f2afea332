import type { Node } from 'oxc-parser'
import { isFunction, type Place } from '../syntax.ts'
import { replace, type Operator } from './operator.ts'

/** Removes a call, an assignment, an early return or a throw. */
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

/** Starts work without awaiting it. */
export const unawaited: Operator = (node, { parent }) =>
  node.type === 'AwaitExpression' && parent.type === 'ExpressionStatement'
    ? [replace({ start: node.start, end: node.start + 'await'.length }, 'void')]
    : []

/**
 * Tells whether the statement is the whole body of an `if` without `else`; a false condition is the same
 * mutant.
 */
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

/** Tells whether the statement ends a function or a case; its removal would only be a type error. */
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
