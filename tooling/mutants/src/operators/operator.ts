import type { Node } from 'oxc-parser'
import type { Change } from '../mutant.ts'
import type { Place } from '../syntax.ts'

/** What a node can be changed to, by one kind of mistake. */
export type Operator = (node: Node, place: Place) => readonly Change[]

export function replace(node: { readonly start: number; readonly end: number }, replacement: string): Change {
  return { start: node.start, end: node.end, replacement }
}
