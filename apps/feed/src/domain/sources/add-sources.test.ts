import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import type { ParsedFeed, ParsedOpml } from '../../feeds/parse/parsed-feed.ts'
import type { Source } from '../../kinds/source.ts'
import { storeFeed, storeSubscriptions } from '../imports/store-feed.ts'
import { openSite, type Site } from '../site/site.ts'
import { addSources } from './add-sources.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
})
afterEach(() => site.close())

const now = new Date('2026-06-01T12:00:00Z')
const sources = (): Promise<Source[]> => site.data.sources.byTime.all({}, { scatter: true, order: 'desc' })

function list(outlines: string): ParsedOpml {
  const opml = `<opml version="2.0"><head><title>L</title></head><body>${outlines}</body></opml>`
  return parseFile(Buffer.from(opml), { name: 'l', now }) as ParsedOpml
}

test('people share the source of a feed, whatever the scheme of its address', async () => {
  const [ann, bob] = [site.store.newId(), site.store.newId()]
  const add = (address: string, personId: string): Promise<unknown> =>
    addSources(site.data, [{ address }], { personId, now })
  const [first, second, third] = [
    await add('http://example.org/feed', ann),
    await add('https://EXAMPLE.org:443/feed/#top', bob),
    await add('https://example.org/feed?page=2', bob),
  ] as [{ id: string; created: boolean }[], { id: string; created: boolean }[], { created: boolean }[]]
  expect(second).toEqual([{ id: first[0]?.id, created: false }])
  expect(third[0]?.created).toBe(true)
  expect(await sources()).toHaveLength(2)
  expect(await site.data.sources.get(first[0]?.id ?? '')).toMatchObject({
    title: 'example.org',
    person_id: ann,
    next_check: now,
  })
})

test('a source that two people add at the same time is created once', async () => {
  const add = (): Promise<{ created: boolean }[]> =>
    addSources(site.data, [{ address: 'http://example.org/feed' }], { personId: undefined, now })
  const saved = await Promise.all([add(), add(), add()])
  expect(saved.flat().filter(({ created }) => created)).toHaveLength(1)
  expect(await sources()).toHaveLength(1)
})

test('an imported file does not write to the source that is fetched from the address that it claims', async () => {
  const [added] = await addSources(site.data, [{ address: 'https://example.org/feed' }], {
    personId: undefined,
    now,
  })
  const xml = `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Forged</title><atom:link rel="self" href="https://example.org/feed"/><item><title>False news</title></item></channel></rss>`
  const file = parseFile(Buffer.from(xml), { name: 'f', now }) as ParsedFeed
  const { sourceId } = await storeFeed(site.data, file, undefined, now)
  expect(sourceId).not.toBe(added?.id)
  expect((await site.data.sources.get(sourceId))?.next_check).toBeUndefined()
})

test('a long list is added in batches and in its order, and a second time nothing is new', async () => {
  const feeds = Array.from(
    { length: 2100 },
    (_, i) => `<outline text="${i}" xmlUrl="https://example.org/${i}"/>`,
  )
  const opml = list(feeds.join(''))
  expect(opml.notes).toEqual(['Only the first 2000 feeds are kept; 100 more were left out.'])
  await site.store.trace(async (trace) => {
    expect(await storeSubscriptions(site.data, opml, { personId: undefined, now })).toEqual({
      added: 2000,
      known: 0,
      followed: false,
    })
    // One by one, each source would take two statements.
    expect(trace.statements.length).toBeLessThan(700)
  })
  expect((await sources()).slice(0, 3).map(({ title }) => title)).toEqual(['0', '1', '2'])
  expect(new Set((await sources()).map(({ stripe }) => stripe)).size).toBe(16)
  expect(await storeSubscriptions(site.data, opml, { personId: undefined, now })).toEqual({
    added: 0,
    known: 2000,
    followed: false,
  })
})
