import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { runInside } from './run-command.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'apps/*/README.md'], {
  cwd: root,
})

/** The help of each command, by its words; of the program itself by ''. */
const helps = new Map<string, string>()

async function readHelp(words: readonly string[]): Promise<void> {
  const { stdout } = await runInside([...words, '--help'])
  helps.set(words.join(' '), stdout)
  const names = /^Commands:\n((?: .*\n)*)/m.exec(stdout)?.[1]?.matchAll(/^ {2}([a-z-]+)/gm) ?? []
  for (const [, name] of names) await readHelp([...words, name as string])
}

beforeAll(() => readHelp([]))

/** Returns the flaw of a command line without its first word; undefined if the program has the command and its options. */
function flawOf(line: string): string | undefined {
  const words = line.split(' ')
  const command = [words.slice(0, 2).join(' '), words[0]!].find((name) => helps.has(name))
  if (command === undefined) return `no command: ${line}`
  const isGroup = /^Commands:/m.test(helps.get(command)!)
  if (isGroup && words.length > 1) return `no command: ${line}`
  const known = `${helps.get('')}${helps.get(command)}`
  const unknown = line.match(/(?<= )--[a-z-]+/g)?.find((option) => !known.includes(option))
  return unknown === undefined ? undefined : `no option ${unknown}: ${line}`
}

test('the check of a command line finds a missing command, subcommand and option', () => {
  expect(['clean', 'shard', 'shard add db2:3306/feed --dry-run'].map(flawOf)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(['sweep', 'index hide by_user', 'clean --soon'].map(flawOf)).toEqual([
    'no command: sweep',
    'no command: index hide by_user',
    'no option --soon: clean --soon',
  ])
})

test('the program has every command that a document names', () => {
  const flaws = documents.flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8')
    const lines = text.matchAll(/(?:`|^\s*(?:npx )?)looseleaf ([a-z][^`\n#|>]*)/gm)
    return Array.from(lines, ([, line]) => flawOf(line!.trim())).flatMap((flaw) =>
      flaw === undefined ? [] : [`${document}: ${flaw}`],
    )
  })
  expect(flaws).toEqual([])
})
