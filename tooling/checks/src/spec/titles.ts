import { parseSync, Visitor, type CallExpression, type Expression } from 'oxc-parser'

const SAYS_A_TITLE = new Set(['describe', 'it', 'test'])

/**
 * Returns the titles of tests and groups in a file as written, including `%s`. If a title is only `%s`, from
 * `Object.entries(situations)`, returns the keys of that object instead.
 */
export function titlesIn(file: string, source: string): ReadonlySet<string> {
  const { program, errors } = parseSync(file, source)
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  const titles = new Set<string>()
  const keys = new Map<string, string[]>()
  const listed = new Set<string>()
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type !== 'Identifier' || init?.type !== 'ObjectExpression') return
      const names = init.properties.flatMap((property) =>
        property.type === 'Property' && property.key.type === 'Literal' ? [String(property.key.value)] : [],
      )
      keys.set(id.name, names)
    },
    CallExpression({ callee, arguments: [title] }) {
      if (title === undefined || !SAYS_A_TITLE.has(rootOf(callee))) return
      if (title.type === 'TemplateLiteral') titles.add(source.slice(title.start + 1, title.end - 1))
      if (title.type !== 'Literal' || typeof title.value !== 'string') return
      titles.add(title.value)
      if (title.value === '%s' && callee.type === 'CallExpression') listed.add(listOf(callee))
    },
  }).visit(program)
  for (const name of listed) for (const key of keys.get(name) ?? []) titles.add(key)
  titles.delete('%s')
  return titles
}

/** Returns `test` for `test`, `test.each(rows)` and `test.skipIf(x).each(rows)`. */
function rootOf(callee: Expression): string {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type === 'MemberExpression') return rootOf(callee.object)
  return callee.type === 'CallExpression' ? rootOf(callee.callee) : ''
}

/** Returns `situations` for `describe.each(Object.entries(situations))`. */
function listOf({ arguments: [list] }: CallExpression): string {
  const [of] = list?.type === 'CallExpression' ? list.arguments : []
  return of?.type === 'Identifier' ? of.name : ''
}
