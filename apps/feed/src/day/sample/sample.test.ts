import { memoryShards } from 'looseleaf'
import { expect, test } from 'vitest'
import { openSite } from '../../domain/site/site.ts'
import { readSample } from './read-sample.ts'
import { sampleEntities } from './sample-entities.ts'
import { seedSample } from './seed.ts'

const now = new Date('2026-06-01T12:00:00Z')
const sample = await readSample()

test('the sample has enough people, sources, entries and shared links for a lively site', () => {
  expect(sample.people.length).toBeGreaterThanOrEqual(30)
  expect(sample.sources.length).toBeGreaterThanOrEqual(12)
  expect(sample.entries.length).toBeGreaterThan(250)
  const shares = Map.groupBy(sample.entries, (entry) => entry.link)
  expect(
    [...shares].filter(([link, entries]) => link !== undefined && entries.length > 1).length,
  ).toBeGreaterThan(10)
})

test('the sample contains no link to a real site and no duplicates', () => {
  const files = sample.entries.flatMap(({ media = [] }) => media.map(({ url }) => url))
  const pages = [...sample.entries, ...sample.sources].flatMap(({ link }) => link ?? [])
  const links = [...pages, ...files]
  for (const link of links) expect(new URL(link).hostname).toMatch(/(^|\.)example(\.(com|org))?$/)
  const titles = sample.entries.map(({ title }) => title)
  expect(new Set(titles).size).toBe(titles.length)
})

test('sources of several people have entries with tags, and with pictures, recordings and films', () => {
  const { entries } = sampleEntities(sample, now)
  const people = (has: (entry: (typeof entries)[number]) => boolean): number =>
    new Set(entries.filter(has).map(({ person_id }) => person_id)).size
  for (const kind of ['image', 'audio', 'video'])
    expect([kind, people(({ media_kind }) => media_kind === kind) > 1]).toEqual([kind, true])
  expect(people(({ tag_keys = [] }) => tag_keys.includes('bread'))).toBeGreaterThan(1)
})

test('all times of the sample are in the past and all ids are unique', () => {
  const { people, sources, entries, comments, likes } = sampleEntities(sample, now)
  const ids = [people, sources, entries, comments, likes].flatMap((items) => items.map(({ id }) => id))
  expect(new Set(ids).size).toBe(ids.length)
  const times = [
    ...people.map(({ joined }) => joined),
    ...sources.map(({ added }) => added),
    ...entries.map(({ published }) => published),
    ...comments.map(({ commented }) => commented),
    ...likes.map(({ liked }) => liked),
  ]
  for (const time of times) expect(time).toSatisfy((date: Date) => date < now)
})

test('the newest entry of the sample is minutes old, and a page of entries is from today', () => {
  const times = sampleEntities(sample, now)
    .entries.map(({ published }) => now.getTime() - published.getTime())
    .toSorted((a, b) => a - b)
  expect(times[0]).toBeLessThan(10 * 60_000)
  expect(times[19]).toBeLessThan(24 * 60 * 60_000)
})

test('a store is seeded once, so deleted sample entries stay deleted', async () => {
  const site = await openSite({ shards: memoryShards(2), cleaner: false })
  expect(await seedSample(site.data, now)).toBeGreaterThan(1000)
  const entry = sampleEntities(sample, now).entries[0]?.id ?? ''
  expect(await site.data.entries.delete(entry)).toBe(true)
  expect(await seedSample(site.data, now)).toBe(0)
  expect(await site.data.entries.get(entry)).toBeUndefined()
  await site.close()
})
