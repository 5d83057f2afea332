import { parseSync, visitorKeys, type Node } from 'oxc-parser'

/** Context of a node, as far as operators need it. */
export interface Place {
  /** Ancestors, nearest first. */
  readonly ancestors: readonly Node[]
  readonly parent: Node
  /** Returns the text of a span of the source. */
  text(node: { readonly start: number; readonly end: number }): string
}

/** Parses TypeScript; throws on a syntax error. Offsets count UTF-16 units, like strings. */
export function parse(file: string, source: string): Node {
  const { program, errors } = parseSync(file, source, { preserveParens: false })
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  return program
}

/**
 * Calls `visit` for every node that has an effect at run time, which excludes types, imports and names of
 * properties.
 */
export function walk(program: Node, source: string, visit: (node: Node, place: Place) => void): void {
  const text: Place['text'] = ({ start, end }) => source.slice(start, end)
  const step = (node: Node, ancestors: readonly Node[]): void => {
    const parent = ancestors[0]
    if (parent !== undefined) visit(node, { ancestors, parent, text })
    for (const child of childrenOf(node)) step(child, [node, ...ancestors])
  }
  step(program, [])
}

const ERASED = new Set(['ImportDeclaration', 'ExportAllDeclaration'])
/** TypeScript nodes that wrap an expression. */
const TRANSPARENT = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'])

function childrenOf(node: Node): Node[] {
  if (ERASED.has(node.type) || isOfAnotherFile(node)) return []
  const children: Node[] = []
  for (const key of visitorKeys[node.type] ?? []) {
    if (key === 'key' && 'computed' in node && !node.computed) continue
    const value: unknown = node[key as keyof Node]
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child) && isRun(child)) children.push(child)
    }
  }
  return children
}

/** Tells whether a node exports names of another file, as an entry of a package does. */
function isOfAnotherFile(node: Node): boolean {
  return node.type === 'ExportNamedDeclaration' && node.source !== null
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

function isRun({ type }: Node): boolean {
  return !type.startsWith('TS') || TRANSPARENT.has(type)
}

export type FunctionNode = Extract<
  Node,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>

export function isFunction(node: Node): node is FunctionNode {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression'
  )
}

/** Unwraps nodes that only state a type. */
export function bare(node: Node): Node {
  return TRANSPARENT.has(node.type) ? bare((node as unknown as { expression: Node }).expression) : node
}
