import { MagicString } from 'magic-string'
import type { Node } from 'oxc-parser'
import { PROBES } from './probes-global.ts'
import { isFunction, parse, walk } from './syntax.ts'

/** An instrumented file that records which of its statements run, and maps places to statements. */
export interface Probed {
  readonly code: string
  /** Returns the number of the innermost statement around an offset. */
  probeAt(offset: number): number
}

interface Span {
  readonly start: number
  readonly end: number
  readonly probe: number
}

/**
 * Instruments a file. Numbers begin with `first`, so that files of one run have different ones; `count` is
 * how many were used.
 */
export function probe(file: string, source: string, first: number): Probed & { readonly count: number } {
  const program = parse(file, source)
  const code = new MagicString(source)
  const spans: Span[] = [{ start: 0, end: source.length, probe: first }]
  let next = first + 1
  code.prepend(`globalThis.${PROBES}?.add(${first});`)

  const call = (number: number): string => `globalThis.${PROBES}?.add(${number})`
  const mark = (statement: Node, braces: boolean): void => {
    const number = next++
    spans.push({ start: statement.start, end: statement.end, probe: number })
    code.appendLeft(statement.start, `${braces ? '{' : ''}${call(number)};`)
    // Prepended: an arrow function without braces may end at the same place, inside of this statement.
    if (braces) code.prependRight(statement.end, '}')
  }
  const visit = (node: Node): void => {
    switch (node.type) {
      case 'BlockStatement':
        for (const statement of node.body) mark(statement, false)
        return
      case 'SwitchCase':
        for (const statement of node.consequent) mark(statement, false)
        return
      case 'IfStatement':
        for (const branch of [node.consequent, node.alternate]) {
          if (branch !== null && branch.type !== 'BlockStatement' && branch.type !== 'IfStatement')
            mark(branch, true)
        }
        return
      case 'ForStatement':
      case 'ForOfStatement':
      case 'ForInStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        if (node.body.type !== 'BlockStatement') mark(node.body, true)
        return
      default:
        if (isFunction(node)) markFunction(node)
    }
  }
  const markFunction = (node: Node): void => {
    if (!isFunction(node) || node.body === null) return
    const { body } = node
    if (body.type === 'BlockStatement') {
      // Defaults of parameters run at the call; the statements of the body have numbers of their own.
      const number = next++
      spans.push({ start: node.start, end: node.end, probe: number })
      code.appendLeft(body.start + 1, `${call(number)};`)
      return
    }
    const number = next++
    spans.push({ start: node.start, end: node.end, probe: number })
    code.appendLeft(body.start, `(${call(number)}, `)
    code.prependRight(body.end, ')')
  }
  walk(program, source, visit)

  return {
    code: code.toString(),
    count: next - first,
    probeAt(offset) {
      let innermost = spans[0] as Span
      for (const span of spans) {
        const isAround = span.start <= offset && offset < span.end
        if (isAround && span.end - span.start <= innermost.end - innermost.start) innermost = span
      }
      return innermost.probe
    },
  }
}
