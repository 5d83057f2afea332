import { bucketRouter, parseId } from 'looseleaf'
import { expect, test } from 'vitest'
import { importedEntryId, likeId, sourceId } from './ids.ts'

const router = bucketRouter({ shards: 7 })
const shardOf = (id: string): number => router.shardOfId(parseId(id))

test('imported entries and sources have fixed ids', () => {
  expect(importedEntryId(sourceId('nobody feed example.org/feed'), 'guid 1')).toMatchInlineSnapshot(
    `"c0da755b-5e3e-5a2f-b257-779df71e3445"`,
  )
})

test('an entry with an address as its guid keeps its id when the site moves to https', () => {
  const id = importedEntryId('s', 'http://example.org/1')
  expect(importedEntryId('s', 'HTTPS://example.org/1')).toBe(id)
  expect(importedEntryId('s', 'https://example.org/2')).not.toBe(id)
  expect(importedEntryId('s', 'urn:https://example.org/1')).not.toBe(
    importedEntryId('s', 'urn:http://example.org/1'),
  )
})

test('a like is on the shard of its entry, for posted and imported entries', () => {
  for (let i = 0; i < 200; i++) {
    const entry = i % 2 === 0 ? Buffer.from(router.newId()).toString('hex') : ''
    const posted = entry.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const id = posted === '' ? importedEntryId('s', `${i}`) : posted
    expect(shardOf(likeId(id, `user ${i}`))).toBe(shardOf(id))
  }
})
