import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, type Comment, type TSPropertySignature } from 'oxc-parser'
import { root } from './repository.ts'

/**
 * A table of options between two comments of a document, such as `<!-- options: src/options.ts MysqlOptions -->` and
 * `<!-- end of options -->`. The path is relative to the document.
 */
const TABLE = /(<!-- options: (\S+) (\w+) -->\n)[\s\S]*?(<!-- end of options -->)/g

/** Returns the documents that may have tables of options. */
export function documentsWithTables(): string[] {
  return globSync(['packages/*/README.md', 'docs/*.md'], { cwd: root }).filter((document) =>
    textOf(document).includes('<!-- options:'),
  )
}

/** Returns the text of a document with its tables made of the docstrings. Throws if an option has none. */
export function withTables(document: string): string {
  return textOf(document).replaceAll(TABLE, (_, begin: string, path: string, name: string, end: string) => {
    const source = readFileSync(join(root, dirname(document), path), 'utf8')
    return `${begin}\n${optionTable(source, name)}\n\n${end}`
  })
}

const textOf = (document: string): string => readFileSync(join(root, document), 'utf8')

/** Renders the members of an interface with their docstrings. `Default: x.` at the end of a docstring is a column of its own. */
export function optionTable(source: string, name: string): string {
  const { program, comments } = parseSync('options.ts', source)
  const members = program.body.flatMap((statement) => {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type !== 'TSInterfaceDeclaration' || declared.id.name !== name) return []
    return declared.body.body.filter((member) => member.type === 'TSPropertySignature')
  })
  if (members.length === 0) throw new Error(`There is no interface ${name} with options.`)
  const rows = members.map((member) => rowOf(member, docstringOf(member, comments, source)))
  return ['| option | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')
}

function rowOf({ key, optional }: TSPropertySignature, docstring: string): string {
  const name = key.type === 'Identifier' ? key.name : ''
  if (docstring === '') throw new Error(`The option ${name} has no docstring.`)
  const [, text = docstring, byDefault = optional ? '' : 'required'] =
    /^(.*?)\s*Default: (.*)\.$/.exec(docstring) ?? []
  return `| \`${name}\` | ${escaped(byDefault)} | ${escaped(text)} |`
}

/** Returns the text of the block comment right before a member, in one line; empty without one. */
function docstringOf(member: TSPropertySignature, comments: readonly Comment[], source: string): string {
  const comment = comments.findLast(({ end }) => end <= member.start)
  if (comment === undefined || !comment.value.startsWith('*')) return ''
  if (source.slice(comment.end, member.start).trim() !== '') return ''
  return comment.value
    .slice(1)
    .replaceAll(/^\s*\* ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const escaped = (text: string): string => text.replaceAll('|', '\\|')
