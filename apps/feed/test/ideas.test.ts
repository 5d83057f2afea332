import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)

test('each test that the table of ideas names is in the file that it names', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8')
  const named = [...readme.matchAll(/`(idea \d+)`, \[([^\]]+)\]\(\2\)/g)]
  expect(named.map(([, idea]) => idea)).toEqual([1, 2, 3, 4, 5, 7, 8, 9].map((number) => `idea ${number}`))
  for (const [, idea, file = ''] of named)
    expect([file, readFileSync(new URL(file, root), 'utf8').includes(`'${idea}: `)]).toEqual([file, true])
})
