import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeBlocksOf, type CodeBlock } from './code-blocks.ts'

export const root: string = fileURLToPath(new URL('../../../..', import.meta.url))

/** Inside this package, so that imports resolve to the packages of the repository. */
export const examplesFolder: string = fileURLToPath(new URL('../../.examples', import.meta.url))

export interface ExampleFile extends CodeBlock {
  readonly file: string
}

/** Returns every document whose examples must work. */
export function documents(): string[] {
  return globSync(['*.md', 'packages/*/README.md', 'docs/**/*.md'], { cwd: root }).toSorted()
}

/** Writes each block into its own file, at the line numbers that it has in its document. */
export function writeExampleFiles(): ExampleFile[] {
  rmSync(examplesFolder, { recursive: true, force: true })
  mkdirSync(examplesFolder, { recursive: true })
  const blocks = documents().flatMap((document) =>
    codeBlocksOf(document, readFileSync(join(root, document), 'utf8')),
  )
  // A fragment without imports depends on the text around it, so the compiler cannot check it.
  const examples = blocks.filter(({ runs, code }) => runs || /^import\b/m.test(code))
  return examples.map((block) => {
    const name = `${block.document.replaceAll('/', '.')}.${block.line}.ts`
    writeFileSync(join(examplesFolder, name), `${'\n'.repeat(block.line - 1)}${block.code}\n`)
    return { ...block, file: name }
  })
}
