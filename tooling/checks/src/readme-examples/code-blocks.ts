/** A block of TypeScript in a document. */
export interface CodeBlock {
  /** The document, relative to the root of the repository. */
  readonly document: string
  /** Line of the document on which the code begins, from 1. */
  readonly line: number
  readonly code: string
  /** False for `ts no-run`: a fragment that does not run. */
  readonly runs: boolean
}

/**
 * Returns the blocks that are fenced as `ts` or `ts no-run`. Throws on any other word after `ts`, which would
 * check nothing.
 */
export function codeBlocksOf(document: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const opening = FENCE.exec(lines[i] ?? '')
    if (opening === null) continue
    const [, fence = '', info = ''] = opening
    const begin = i + 1
    const closing = lines.findIndex((line, at) => at >= begin && line.trim().startsWith(fence))
    if (closing === -1) throw new Error(`${document}:${i + 1}: this block does not end.`)
    i = closing
    const [language, ...marks] = info.trim().split(/\s+/)
    if (language !== 'ts') continue
    if (marks.length > 1 || (marks[0] !== undefined && marks[0] !== 'no-run')) {
      throw new Error(
        `${document}:${begin}: "ts" may be followed by "no-run" only; got "${marks.join(' ')}".`,
      )
    }
    const code = lines.slice(begin, closing).join('\n')
    blocks.push({ document, line: begin + 1, code, runs: marks.length === 0 })
  }
  return blocks
}

const FENCE = /^\s*(`{3,})(.*)$/
