import { expect, test } from 'vitest'
import { createFileParser, startThread } from './file-parser.ts'
import { MAX_PARSE_MS } from './limits.ts'

test('a file is refused if its thread cannot start, and the next file gets a new thread', async () => {
  let failures = 1
  const parser = createFileParser(MAX_PARSE_MS, () => {
    if (failures-- > 0) throw new Error('no more threads')
    return startThread()
  })
  const options = { name: 'a.xml', now: new Date('2026-06-01T12:00:00Z') }
  const feed = Buffer.from(
    '<rss version="2.0"><channel><title>T</title><item><title>One</title></item></channel></rss>',
  )
  const files = await Promise.all([parser.parse(feed, options), parser.parse(feed, options)])
  await parser.close()
  expect(files).toMatchObject([
    { type: 'refused', reason: 'The file could not be read: no more threads.' },
    { type: 'feed' },
  ])
})
