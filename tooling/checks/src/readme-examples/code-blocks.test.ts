import { expect, test } from 'vitest'
import { codeBlocksOf } from './code-blocks.ts'

const fence = '```'

test('blocks of TypeScript are found with their lines, others are left', () => {
  const text = [
    '# Title',
    `${fence}ts`,
    'a()',
    'b()',
    fence,
    `${fence}sh`,
    'ls',
    fence,
    `${fence}ts no-run`,
    'c()',
    fence,
  ]
  expect(codeBlocksOf('README.md', text.join('\n'))).toEqual([
    { document: 'README.md', line: 3, code: 'a()\nb()', runs: true },
    { document: 'README.md', line: 10, code: 'c()', runs: false },
  ])
})

test('a fence of ts inside another block is text', () => {
  const text = ['````md', `${fence}ts`, 'a()', fence, '````'].join('\n')
  expect(codeBlocksOf('README.md', text)).toEqual([])
})

test('an unknown mark is refused, and so is a block without an end', () => {
  expect(() => codeBlocksOf('README.md', `${fence}ts norun\na()\n${fence}`)).toThrow('README.md:1')
  expect(() => codeBlocksOf('README.md', `${fence}ts\na()`)).toThrow('does not end')
})
