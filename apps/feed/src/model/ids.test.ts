import { bucketRouter, isId, parseId } from 'looseleaf'
import { expect, test } from 'vitest'
import { derivedId, importedEntryId, likeId, sourceId } from './ids.ts'

const router = bucketRouter({ shards: 7 })
const shardOf = (id: string): number => router.shardOfId(parseId(id))

test('the same parts give the same id for ever', () => {
  expect(derivedId(['a', 'b'])).toBe(derivedId(['a', 'b']))
  expect(importedEntryId(sourceId('nobody feed example.org/feed'), 'guid 1')).toMatchInlineSnapshot(
    `"35d9e15c-74d3-571b-b47b-88d260f5518f"`,
  )
})

test('an entry that is named by its address stays the same when the site moves to https', () => {
  const id = importedEntryId('s', 'http://example.org/1')
  expect(importedEntryId('s', 'HTTPS://example.org/1')).toBe(id)
  expect(importedEntryId('s', 'https://example.org/2')).not.toBe(id)
  expect(importedEntryId('s', 'urn:https://example.org/1')).not.toBe(
    importedEntryId('s', 'urn:http://example.org/1'),
  )
})

test('parts are kept apart', () => {
  expect(derivedId(['a', 'b'])).not.toBe(derivedId(['ab']))
  expect(sourceId('x')).not.toBe(derivedId(['source x']))
})

test('derived ids are UUIDs of version 5', () => {
  for (let i = 0; i < 200; i++) {
    const id = derivedId([`${i}`])
    expect(isId(id)).toBe(true)
    expect(id).toMatch(/^.{14}5.{4}[89ab]/)
  }
})

test('a like lives on the shard of its entry, whether that was posted or imported', () => {
  for (let i = 0; i < 200; i++) {
    const entry = i % 2 === 0 ? Buffer.from(router.newId()).toString('hex') : ''
    const posted = entry.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const id = posted === '' ? importedEntryId('s', `${i}`) : posted
    expect(shardOf(likeId(id, `user ${i}`))).toBe(shardOf(id))
  }
})

test('derived ids are spread over the shards', () => {
  const counts = new Map<number, number>()
  for (let i = 0; i < 7000; i++) {
    const shard = shardOf(derivedId([`${i}`]))
    counts.set(shard, (counts.get(shard) ?? 0) + 1)
  }
  for (const count of counts.values()) expect(count).toBeGreaterThan(800)
  expect(counts.size).toBe(7)
})
