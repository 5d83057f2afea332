import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { memoryShards } from 'looseleaf'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { openSite, type Site } from '../../domain/site/site.ts'
import { parseFile } from './parse-file.ts'
import { describeImport, importFile, type ImportResult } from '../../domain/imports/import-file.ts'

/** Real feeds in a folder outside the repository. */
const FOLDER = fileURLToPath(new URL('../../../../../../shared/data/feeds/', import.meta.url))
const files = existsSync(FOLDER) ? readdirSync(FOLDER) : []

let site: Site
beforeAll(async () => {
  site = await openSite({ shards: memoryShards(2), cleaner: false })
})
afterAll(() => site.close())

function importReal(name: string): Promise<ImportResult> {
  return importFile(site, { name, bytes: readFileSync(`${FOLDER}${name}`) }, { personId: undefined })
}

function written({ stored }: Exclude<ImportResult, { type: 'refused' | 'undone' }>): number {
  return stored.added + ('updated' in stored ? stored.updated + stored.failed : 0)
}

function needsFeeds(context: TestContext): void {
  context.skip(files.length === 0, `the folder ${FOLDER} is not there, so no real feeds were read`)
}

test('the folder of real feeds exists', (context) => {
  needsFeeds(context)
  expect(files.length).toBeGreaterThan(60)
})

test.each(files)(
  'the real feed %s is imported once, even a second time, or refused with a reason',
  async (name) => {
    const first = await importReal(name)
    const second = await importReal(name)
    expect(describeImport(first)).toMatch(/^\S.*\.$/s)
    expect('stored' in second ? written(second) : 0).toBe(0)
    expect(second.type).toBe(first.type)
  },
)

test('relative links of real feeds are resolved by xml:base', (context) => {
  needsFeeds(context)
  const linksOf = (name: string): unknown => {
    const parsed = parseFile(readFileSync(`${FOLDER}${name}`), { name, now: new Date('2026-06-01') })
    return parsed.type === 'feed'
      ? [parsed.link, ...parsed.items.slice(0, 2).map((item) => item.link)]
      : parsed
  }
  expect(linksOf('macieklamberski--atom-10.xml')).toEqual([
    'http://example.org/',
    'http://example.org/entry/1',
    undefined,
  ])
  expect(linksOf('macieklamberski--atom-03.xml')).toEqual([
    'http://example.org/',
    'http://example.org/entry/3',
    'http://example.org/entry/4',
  ])
})

test('every real feed with items is imported, and other files are refused', async (context) => {
  needsFeeds(context)
  const refused: string[] = []
  for (const name of files) if ((await importReal(name)).type === 'refused') refused.push(name)
  expect(refused.toSorted()).toEqual([
    'feedjira--AmazonWebServicesBlogFirstEntryContent.xml',
    'feedjira--HREFConsideredHarmfulFirstEntry.xml',
    'feedjira--PaulDixExplainsNothingFirstEntryContent.xml',
    'feedjira--TechCrunchFirstEntry.xml',
    'feedjira--TechCrunchFirstEntryDescription.xml',
    'feedjira--TenderLovemakingFirstEntry.xml',
    'macieklamberski--category.opml',
    'macieklamberski--countries.opml',
    'macieklamberski--directory.opml',
    'macieklamberski--script.opml',
    'rbren--incomplete-fields.atom',
    'rbren--unrecognized.rss',
  ])
})
