import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { isThere, read, root } from './repository.ts'

test('the steps of ARCHITECTURE.md lead to files that have the named function or property', () => {
  const steps = stepsOf(read('ARCHITECTURE.md'))
  expect(steps.length).toBeGreaterThan(20)
  expect(steps.filter(({ file }) => !isThere(file))).toEqual([])
  expect(steps.filter(({ file, name }) => !new RegExp(`\\b${name}\\b`).test(read(file)))).toEqual([])
})

test('the reader of the steps finds the file and the name of a row, and nothing in other tables', () => {
  expect(stepsOf('| a step | `packages/a/src/b.ts` | `begin` |\n| `store` | core | job |\n')).toEqual([
    { file: 'packages/a/src/b.ts', name: 'begin' },
  ])
})

test('the index of the decisions has each page once, with its number, its title and its status', () => {
  const rows = read('docs/decisions/README.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, number]) => /^\d+$/.test(number ?? ''))
    .map(([, number, , decision, status]) => ({ number, decision, status }))
  const pages = globSync('[0-9]*.md', { cwd: join(root, 'docs/decisions') }).toSorted()
  expect(pages.length).toBeGreaterThan(50)
  expect(rows).toEqual(pages.map(rowOf))
})

test('every link of a document leads to a file and a heading that exist', () => {
  expect(documents.flatMap((document) => linksOf(document).filter((link) => !isWhole(link)))).toEqual([])
})

test('a heading has the anchor that its link needs, and a second one of its name another', () => {
  const text = '# A `b`, [c](d.md)\n## Twice\n```sh\n# no heading\n```\n## Twice\n'
  expect(anchorsOf(text)).toEqual(['a-b-c', 'twice', 'twice-1'])
})

const documents = globSync(['*.md', 'docs/**/*.md', '{packages,apps,tooling}/*/*.md'], {
  cwd: root,
}).toSorted()
/** Addresses of files of the repository, in texts that are published. */
const PUBLISHED = 'https://example.com/looseleaf/blob/main/'

interface Link {
  readonly from: string
  /** Path from the root. */
  readonly to: string
  readonly anchor: string
}

/** Returns the links of a document to files of the repository. */
function linksOf(from: string): Link[] {
  return Array.from(withoutBlocks(read(from)).matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => link!)
    .filter((link) => link.startsWith(PUBLISHED) || !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = '', anchor = ''] = link.replace(PUBLISHED, '').split('#')
      const isFromRoot = link.startsWith(PUBLISHED)
      const to = path === '' ? from : isFromRoot ? path : join(dirname(from), path)
      return { from, to, anchor }
    })
}

function isWhole({ to, anchor }: Link): boolean {
  return isThere(to) && (anchor === '' || !to.endsWith('.md') || anchorsOf(read(to)).includes(anchor))
}

/** Returns the anchors of headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  const names = Array.from(withoutBlocks(text).matchAll(/^#+ (.*)$/gm), ([, heading]) =>
    heading!
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
  return names.map((name, i) => {
    const earlier = names.slice(0, i).filter((other) => other === name).length
    return earlier === 0 ? name : `${name}-${earlier}`
  })
}

const withoutBlocks = (text: string): string => text.replaceAll(/^ *```.*?^ *```/gms, '')

/** Rows of the form: | step | `file` | `name` |. */
function stepsOf(text: string): { readonly file: string; readonly name: string }[] {
  const rows = text.matchAll(/^\|[^|]+\| `((?:packages|apps|tooling)\/[^`]+)` +\| `(\w+)` +\|$/gm)
  return Array.from(rows, ([, file = '', name = '']) => ({ file, name }))
}

/** Returns the row that the index should have for a page. */
function rowOf(page: string): { number: string; decision: string; status: string } {
  const text = read(`docs/decisions/${page}`)
  const [, number = '', title = ''] = /^# (\d+)\. (.+)\n/.exec(text) ?? []
  const superseded = /^_Superseded[^_]*/m.exec(text)?.[0] ?? ''
  const later = Array.from(superseded.matchAll(/\[(?:decision )?(\d+)\]/g), ([, other]) => other)
  const status = later.length === 0 ? 'accepted' : `superseded in part by ${later.join(' and ')}`
  return { number, decision: `[${title}](${page})`, status }
}
