import type * as WorkerThreads from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { createFileParser } from './file-parser.ts'

const failures = vi.hoisted(() => ({ left: 1 }))

vi.mock('node:worker_threads', async (original) => {
  const threads = await original<typeof WorkerThreads>()
  class Worker extends threads.Worker {
    constructor(...given: ConstructorParameters<typeof threads.Worker>) {
      if (failures.left-- > 0) throw new Error('no more threads')
      super(...given)
    }
  }
  return { ...threads, Worker }
})

test('a file is refused if its thread cannot start, and the next file gets a new thread', async () => {
  const parser = createFileParser()
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
