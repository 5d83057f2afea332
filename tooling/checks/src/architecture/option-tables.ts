import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, type Comment, type TSPropertySignature } from 'oxc-parser'
import { root } from './repository.ts'

/**
 * A table of options between two comments of a document, such as `<!-- options: src/options.ts MysqlOptions -->` and
 * `<!-- end of options -->`. The path is relative to the document. Further paths and names add the options of further interfaces.
 */
const TABLE = /(<!-- options: (\S+ \w+(?: \S+ \w+)*) -->\n)[\s\S]*?(<!-- end of options -->)/g

/** Returns the documents that may have tables of options. */
export function documentsWithTables(): string[] {
  return globSync(['packages/*/README.md', 'docs/*.md'], { cwd: root }).filter((document) =>
    textOf(document).includes('<!-- options:'),
  )
}

/** Returns the text of a document with its tables made of the docstrings. Throws if an option has none. */
export function withTables(document: string): string {
  return textOf(document).replaceAll(TABLE, (_, begin: string, interfaces: string, end: string) => {
    const rows = [...interfaces.matchAll(/(\S+) (\w+)/g)].flatMap(([, path = '', name = '']) =>
      optionRows(readFileSync(join(root, dirname(document), path), 'utf8'), name),
    )
    return `${begin}\n${['| option | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')}\n\n${end}`
  })
}

const textOf = (document: string): string => readFileSync(join(root, document), 'utf8')

/**
 * Renders a row for each member of an interface, with the first paragraph of its docstring. `Default: x.` at the end of a docstring is a
 * column of its own.
 */
export function optionRows(source: string, name: string): string[] {
  const { program, comments } = parseSync('options.ts', source)
  const members = program.body.flatMap((statement) => {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type !== 'TSInterfaceDeclaration' || declared.id.name !== name) return []
    return declared.body.body.filter((member) => member.type === 'TSPropertySignature')
  })
  if (members.length === 0) throw new Error(`There is no interface ${name} with options.`)
  return members.map((member) => rowOf(member, docstringOf(member, comments, source)))
}

function rowOf({ key, optional }: TSPropertySignature, docstring: string): string {
  const name = key.type === 'Identifier' ? key.name : ''
  if (docstring === '') throw new Error(`The option ${name} has no docstring.`)
  const [, text = docstring, byDefault = optional ? '' : 'required'] =
    /^(.*?)\s*Default: ([^\n]*)\.$/s.exec(docstring) ?? []
  const [paragraph = ''] = text.split('\n')
  return `| \`${name}\` | ${escaped(byDefault)} | ${escaped(paragraph)} |`
}

/** Returns the text of the block comment right before a member, with a line for each paragraph; empty without one. */
function docstringOf(member: TSPropertySignature, comments: readonly Comment[], source: string): string {
  const comment = comments.findLast(({ end }) => end <= member.start)
  if (comment === undefined || !comment.value.startsWith('*')) return ''
  if (source.slice(comment.end, member.start).trim() !== '') return ''
  return comment.value
    .slice(1)
    .replaceAll(/^\s*\* ?/gm, '')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim())
    .join('\n')
}

const escaped = (text: string): string => text.replaceAll('|', '\\|')
