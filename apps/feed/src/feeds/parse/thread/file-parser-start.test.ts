import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { createFileParser, startThread } from './file-parser.ts'
import { MAX_PARSE_MS } from '../limits.ts'

const options = { name: 'a.xml', now: new Date('2026-06-01T12:00:00Z') }
const feed = Buffer.from(
  '<rss version="2.0"><channel><title>T</title><item><title>One</title></item></channel></rss>',
)

test('a file is refused if its thread cannot start, and the next file gets a new thread', async () => {
  let failures = 1
  const parser = createFileParser(MAX_PARSE_MS, () => {
    if (failures-- > 0) throw new Error('no more threads')
    return startThread()
  })
  const files = await Promise.all([parser.parse(feed, options), parser.parse(feed, options)])
  await parser.close()
  expect(files).toMatchObject([
    { type: 'refused', reason: 'The file could not be read: no more threads.' },
    { type: 'feed' },
  ])
})

test('a file that takes long holds up no other file, and files beyond the number of threads wait', async () => {
  const silent = `require('node:worker_threads').parentPort.on('message', () => undefined)`
  let started = 0
  const parser = createFileParser(MAX_PARSE_MS, () =>
    started++ === 0 ? new Worker(silent, { eval: true }) : startThread(),
  )
  const slow = parser.parse(feed, options)
  const others = Promise.all([1, 2, 3].map(() => parser.parse(feed, options)))
  const first = await Promise.race([slow, others])
  expect(first).toMatchObject([{ type: 'feed' }, { type: 'feed' }, { type: 'feed' }])
  expect(started).toBe(2)
  await parser.close()
  expect(await slow).toMatchObject({ type: 'refused' })
})

test('closing the parser refuses waiting files, too, and starts no thread for them', async () => {
  let started = 0
  const parser = createFileParser(MAX_PARSE_MS, () => {
    started++
    return startThread()
  })
  const files = Promise.all(Array.from({ length: 6 }, () => parser.parse(feed, options)))
  await new Promise((resolve) => setImmediate(resolve))
  await parser.close()
  const stopped = { type: 'refused', reason: 'The file could not be read: the parser was stopped.' }
  expect(await files).toEqual(Array.from({ length: 6 }, () => stopped))
  expect(started).toBe(2)
})
