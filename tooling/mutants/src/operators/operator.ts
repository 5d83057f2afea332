import type { Node } from 'oxc-parser'
import type { Change } from '../mutant.ts'
import type { Place } from '../syntax.ts'

/** Changes of a node by one kind of mistake. */
export type Operator = (node: Node, place: Place) => readonly Change[]

export function replace(node: { readonly start: number; readonly end: number }, replacement: string): Change {
  return { start: node.start, end: node.end, replacement }
}

/** Finds the operator of a binary node. Parentheses around a side belong to no node. */
export function operatorOf(
  node: Extract<Node, { readonly left: Node; readonly right: Node; readonly operator: string }>,
  { text }: Place,
): { readonly start: number; readonly end: number } {
  const between = text({ start: node.left.end, end: node.right.start })
  const start = node.left.end + between.indexOf(node.operator)
  return { start, end: start + node.operator.length }
}
