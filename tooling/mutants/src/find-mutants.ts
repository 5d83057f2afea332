import type { Node } from 'oxc-parser'
import type { Change, Mutant } from './mutant.ts'
import { arithmetic, assignment } from './operators/arithmetic.ts'
import { chaining, methods, race } from './operators/calls.ts'
import { boundary, constantTruth, decided, oneSide } from './operators/conditions.ts'
import { booleans, emptyArrays, words } from './operators/literals.ts'
import type { Operator } from './operators/operator.ts'
import { functionNames, statementText } from './operators/sql.ts'
import { removed, unawaited } from './operators/statements.ts'
import { parse, walk, type Place } from './syntax.ts'

const OPERATORS: readonly Operator[] = [
  arithmetic,
  assignment,
  booleans,
  boundary,
  chaining,
  constantTruth,
  decided,
  emptyArrays,
  functionNames,
  methods,
  oneSide,
  race,
  removed,
  statementText,
  unawaited,
  words,
]

/** Returns every mutant of a file, in source order. All texts differ. */
export function findMutants(file: string, source: string): readonly Mutant[] {
  const found: { readonly change: Change; readonly name: string }[] = []
  walk(parse(file, source), source, (node, place) => {
    for (const operator of OPERATORS) {
      for (const change of operator(node, place)) {
        found.push({ change, name: `${functionOf(place)}: ${describe(change, node, place, source)}` })
      }
    }
  })
  found.sort((a, b) => a.change.start - b.change.start || b.change.end - a.change.end)
  const seen = new Set<string>()
  const taken = new Map<string, number>()
  return found.flatMap(({ change, name }): Mutant[] => {
    const { start, end, replacement } = change
    const key = `${start} ${end} ${replacement}`
    if (seen.has(key)) return []
    seen.add(key)
    const count = (taken.get(name) ?? 0) + 1
    taken.set(name, count)
    const line = source.slice(0, start).split('\n').length
    return [{ ...change, file, name: count === 1 ? name : `${name} (${count})`, line }]
  })
}

/** Returns the functions and methods around a place, outermost first: `createEntityWriter.writeInAttempts.committed`. */
function functionOf({ ancestors }: Place): string {
  const names = ancestors.flatMap((node, i) => nameOf(node, ancestors[i - 1]) ?? [])
  return names.length === 0 ? '(module)' : names.toReversed().join('.')
}

function nameOf(node: Node, inner: Node | undefined): string | undefined {
  if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') return node.id?.name
  if (node.type === 'VariableDeclarator') {
    return inner?.type === 'ArrowFunctionExpression' && node.id.type === 'Identifier'
      ? node.id.name
      : undefined
  }
  if (node.type === 'Property' || node.type === 'MethodDefinition') {
    const isFunction = inner?.type === 'FunctionExpression' || inner?.type === 'ArrowFunctionExpression'
    return isFunction && node.key.type === 'Identifier' ? node.key.name : undefined
  }
  return undefined
}

const LONGEST = 90

/** Describes the original and its replacement, with enough context to recognize it. */
function describe(
  { start, end, replacement }: Change,
  node: Node,
  { parent }: Place,
  source: string,
): string {
  const around = node.type === 'Literal' && isShort(parent) ? parent : node
  const isPart = start > around.start || end < around.end
  const from = isShort(around) || !isPart ? around.start : Math.max(around.start, start - LONGEST / 3)
  const to = isShort(around) || !isPart ? around.end : Math.min(around.end, end + LONGEST / 3)
  const after = short(source.slice(from, start) + replacement + source.slice(end, to))
  return `${short(source.slice(from, to))} → ${after === ';' || after === '' ? '(nothing)' : after}`
}

const isShort = ({ start, end }: Node): boolean => end - start <= LONGEST

function short(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ').trim()
  if (line.length <= LONGEST) return line
  const half = Math.floor(LONGEST / 2)
  return `${line.slice(0, half)}…${line.slice(-half)}`
}
