import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runImport } from './import-command.ts'
import { serve } from './serve.ts'
import { readSettings } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-import-'))
const feed =
  '<rss version="2.0"><channel><title>From a file</title><item><title>One</title></item></channel></rss>'

beforeAll(async () => {
  writeFileSync(join(folder, 'a.xml'), feed)
  writeFileSync(join(folder, 'b.html'), '<p>no feed</p>')
  writeFileSync(join(folder, 'list.opml'), '<opml><body><outline xmlUrl="https://a.example/"/></body></opml>')
  const site = await serve({ ...readSettings(['--data', join(folder, 'data')], {}), port: 0 })
  await site.stop()
})
afterAll(() => rmSync(folder, { recursive: true }))

async function run(...args: string[]): Promise<{ status: number; lines: string[] }> {
  const lines: string[] = []
  const output = {
    print: (line: string) => void lines.push(line),
    printError: (line: string) => void lines.push(line),
  }
  const env = { INIT_CWD: folder, LOOSELEAF_DATA: 'data' }
  return { status: await runImport(args, env, output), lines }
}

test('the import command prints its options for --help, and imports nothing', async () => {
  const { status, lines } = await run('--help', 'a.xml')
  expect(status).toBe(0)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^Usage: pnpm --filter feed run import \[options\] file …\n {2}--as <name> +the person/,
  )
})

test('the import command imports files with or without an owner, and imports nothing twice', async () => {
  expect(await run('a.xml')).toEqual({ status: 0, lines: ['From a file (RSS): 1 new entry.'] })
  expect(await run('a.xml')).toEqual({ status: 0, lines: ['From a file (RSS): 1 entry unchanged.'] })
  expect(await run('--as', 'mira', 'a.xml')).toEqual({
    status: 0,
    lines: ['From a file (RSS): 1 new entry.'],
  })
})

test('the import command follows the subscriptions of a list for the person of --as only', async () => {
  expect(await run('list.opml')).toEqual({ status: 0, lines: ['list.opml (OPML): 1 new source.'] })
  expect(await run('--as', 'mira', 'list.opml')).toEqual({
    status: 0,
    lines: ['list.opml (OPML): 1 source already known, which you follow now.'],
  })
})

test('the import command reports refused files, missing files and folders, and imports the others', async () => {
  const { status, lines } = await run('b.html', 'nothing.xml', 'data', 'a.xml')
  expect(status).toBe(2)
  expect(lines[0]).toBe('b.html: refused. The file contains no feed: it looks like a piece of a web page.')
  expect(lines[1]).toBe(`${join(folder, 'nothing.xml')}: refused. There is no such file.`)
  expect(lines[2]).toBe(`${join(folder, 'data')}: refused. The file cannot be read (EISDIR).`)
  expect(lines[3]).toBe('From a file (RSS): 1 entry unchanged.')
})

test.each([
  [[], 'The import failed: No files were named.'],
  [['--as', 'nobody-here', 'a.xml'], 'The import failed: There is no person named “nobody-here”.'],
  [['--wrong'], 'The import failed: Unknown option'],
])('the import command with %j fails with a reason', async (args, message) => {
  const { status, lines } = await run(...args)
  expect(status).toBe(1)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain(message)
})
