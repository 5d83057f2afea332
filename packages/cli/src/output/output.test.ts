import { counted } from '@looseleaf/core/internal'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Console } from './console.ts'
import { createOutput } from './output.ts'
import { clip, printable } from './text.ts'
import { redact } from '../running/run-action.ts'

function fakeConsole(options: { isTTY?: boolean; env?: Record<string, string> } = {}): {
  console: Console
  text(): string
} {
  const stdout = Object.assign(new PassThrough(), { isTTY: options.isTTY ?? false, columns: 80 })
  const stdin = new PassThrough()
  const { signal } = new AbortController()
  const console = { stdin, stdout, stderr: new PassThrough(), env: options.env ?? {}, cwd: '/', signal }
  return { console, text: () => String(stdout.read() ?? '') }
}

test('a table has a dim head and aligned columns on a terminal', () => {
  const { console } = fakeConsole({ isTTY: true })
  const table = createOutput(console, false).table(
    ['NAME', 'N'],
    [
      ['alpha', '1'],
      ['b', '22'],
    ],
  )
  expect(table.split('\n')).toEqual([
    '\u001b[2mNAME\u001b[22m   \u001b[2mN\u001b[22m',
    'alpha  1',
    'b      22',
  ])
})

test('output has no colours without a terminal, with NO_COLOR, or on a dumb terminal', () => {
  for (const options of [
    { isTTY: false },
    { isTTY: true, env: { NO_COLOR: '1' } },
    { isTTY: true, env: { TERM: 'dumb' } },
  ]) {
    const { console } = fakeConsole(options)
    expect(createOutput(console, false).colors.red('x')).toBe('x')
  }
})

test('stored text cannot steer the terminal or break its row', () => {
  expect(printable('a\u001b]0;title\u0007b\nc\u009b2Jd')).toBe('a ]0;title b c 2Jd')
  const { console } = fakeConsole()
  expect(createOutput(console, false).table(['A'], [['x\u001b[2Jy\nz']])).toBe('A\nx [2Jy z')
})

test('a result is one line of JSON with --json, and text without it', () => {
  const json = fakeConsole()
  createOutput(json.console, true).result({ n: 1 }, () => 'one')
  expect(json.text()).toBe('{"n":1}\n')
  const text = fakeConsole()
  createOutput(text.console, false).result({ n: 1 }, () => 'one')
  expect(text.text()).toBe('one\n')
})

test('a noun agrees with its count, and a shortened text ends with an ellipsis', () => {
  expect(counted(1, 'entity', 'entities')).toBe('1 entity')
  expect(counted(12_345, 'entity', 'entities')).toBe('12,345 entities')
  expect(clip('abcdef', 6)).toBe('abcdef')
  expect(clip('abcdefg', 6)).toBe('abcde…')
})

test('redact removes user and password from the URLs in a message', () => {
  expect(redact("error: unknown option '--shard=mysql://u:hunter2@h/d,mysql://u:p@ss@h/d'")).toBe(
    "error: unknown option '--shard=mysql://…@h/d,mysql://…@h/d'",
  )
})
