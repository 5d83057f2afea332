import { bare, type Place } from '../syntax.ts'
import { replace, type Operator } from './operator.ts'

const SWAPPED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    some: 'every',
    every: 'some',
    min: 'max',
    max: 'min',
    find: 'findLast',
    findLast: 'find',
    startsWith: 'endsWith',
    endsWith: 'startsWith',
  }),
)

/** Methods whose result has the type of their object. */
const LEFT_OUT = new Set(['filter', 'slice', 'toSorted', 'toReversed', 'catch', 'finally'])

/** Replaces a method by its opposite, or removes the call. */
export const methods: Operator = (node, { text }) => {
  if (node.type !== 'CallExpression') return []
  const callee = bare(node.callee)
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return []
  const { property } = callee
  if (LEFT_OUT.has(property.name)) {
    const object = text({ start: node.start, end: property.start })
    return [
      replace(
        node,
        object
          .trimEnd()
          .replace(/\??\.$/, '')
          .trimEnd(),
      ),
    ]
  }
  const [argument] = node.arguments
  if (property.name === 'at' && argument !== undefined)
    return [replace(argument, text(argument) === '-1' ? '0' : '-1')]
  const other = SWAPPED.get(property.name)
  return other === undefined ? [] : [replace(property, other)]
}

/**
 * Replaces `Promise.all` by `Promise.race` if the result is unused; otherwise it would only be a type error.
 */
export const race: Operator = (node, { parent, ancestors, text }) => {
  if (node.type !== 'CallExpression' || parent.type !== 'AwaitExpression') return []
  if (ancestors[1]?.type !== 'ExpressionStatement') return []
  const isAll = node.callee.type === 'MemberExpression' && text(node.callee) === 'Promise.all'
  return isAll ? [replace(node.callee, 'Promise.race')] : []
}

/** Replaces `?.` by `.`. */
export const chaining: Operator = (node, { text }) => {
  if (node.type === 'MemberExpression' && node.optional) {
    return [replace(link(node.object.end, text), node.computed ? '' : '.')]
  }
  return node.type === 'CallExpression' && node.optional ? [replace(link(node.callee.end, text), '')] : []
}

/** Finds the `?.` behind an object. */
function link(from: number, text: Place['text']): { readonly start: number; readonly end: number } {
  const start = from + text({ start: from, end: from + 200 }).indexOf('?.')
  return { start, end: start + '?.'.length }
}
