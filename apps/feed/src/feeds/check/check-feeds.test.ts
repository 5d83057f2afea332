import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { createFileParser } from '../parse/thread/file-parser.ts'
import { checkFeeds } from './check-feeds.ts'

const FEEDS = fileURLToPath(new URL('../../../test/feeds', import.meta.url))
const EXPECTED = fileURLToPath(new URL('../../../test/feeds-expected.json', import.meta.url))

const parser = createFileParser()
const folder = mkdtempSync(join(tmpdir(), 'looseleaf-check-'))
afterAll(async () => {
  await parser.close()
  rmSync(folder, { recursive: true })
})

async function check(...args: string[]): Promise<{ status: number; lines: string[] }> {
  const lines: string[] = []
  const print = (line: string): void => void lines.push(line)
  return { status: await checkFeeds(args, parser, { print, printError: print }), lines }
}

interface Item {
  title: string
  link: string | null
  published: string | null
  enclosures?: string[]
}

type Expected = Record<string, { title?: string; titel?: string; items?: [Item, Item]; refused?: string }>

function expecting(change: (expected: Expected, items: [Item, Item]) => void): string {
  const expected = JSON.parse(readFileSync(EXPECTED, 'utf8')) as Expected
  change(expected, expected['podcast.xml']?.items as [Item, Item])
  const file = join(folder, 'expected.json')
  writeFileSync(file, JSON.stringify(expected))
  return file
}

test('the feeds of this repository are as expected', async () => {
  expect(await check(FEEDS, EXPECTED)).toEqual({ status: 0, lines: ['3 files, 0 with differences.'] })
})

test('each difference is a line with its file and its place', async () => {
  const file = expecting((expected, [first, second]) => {
    first.title = 'Rye'
    first.published = '2026-06-02T08:00:00Z'
    first.enclosures = []
    second.link = null
    expected['relative.atom'] = { refused: 'no feed' }
    delete expected['page.html']
    expected['missing.xml'] = { refused: '' }
  })
  expect(await check(FEEDS, file)).toEqual({
    status: 1,
    lines: [
      'missing.xml: no file',
      'page.html: no expectation',
      'podcast.xml: item 1, title: expected "Rye", got "Rye & water"',
      'podcast.xml: item 1, date: expected "2026-06-02T08:00:00.000Z", got "2026-06-02T06:00:00.000Z"',
      'podcast.xml: item 1, enclosures: expected "", got "https://crumbs.example/2.mp3"',
      'podcast.xml: item 2, link: expected null, got "https://crumbs.example/1"',
      'relative.atom: expected a refusal, got a file of type feed',
      '4 files, 4 with differences.',
    ],
  })
})

test('an invalid file of expectations, and missing arguments, stop the check', async () => {
  const file = expecting((expected) => (expected['podcast.xml'] = { titel: 'x' }))
  expect(await check(FEEDS, file)).toMatchObject({ status: 2 })
  expect(await check(FEEDS)).toEqual({ status: 2, lines: ['Usage: check-feeds folder expected.json'] })
})
