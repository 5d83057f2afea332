import { expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import { startPublisher } from './publisher.ts'
import { formats, type PublishedItem } from './write-feed.ts'

const item = (n: number): PublishedItem => ({
  guid: `tag:example.org,2026:${n}`,
  title: `Bread & butter <${n}>`,
  body: 'Flour, water, salt.',
  path: `/posts/${n}`,
  published: new Date(Date.UTC(2026, 10, 1, 12, n)),
  tags: ['bread'],
  media: n === 2 ? '/sounds/2.mp3' : undefined,
})

test.each(formats)('a feed in %s is read with all that was published', async (format) => {
  const publisher = await startPublisher({ title: 'Oven', about: 'Baking', format, items: [item(1)] })
  try {
    publisher.publish(item(2))
    const answer = await fetch(publisher.feedUrl)
    const parsed = parseFile(new Uint8Array(await answer.arrayBuffer()), { name: 'feed', now: new Date() })
    expect(parsed).toMatchObject({
      type: 'feed',
      title: 'Oven',
      items: [
        {
          guid: 'tag:example.org,2026:2',
          title: 'Bread & butter <2>',
          link: `${publisher.origin}/posts/2`,
          published: item(2).published,
          tags: ['bread'],
          media: [{ url: `${publisher.origin}/sounds/2.mp3`, type: 'audio' }],
        },
        { title: 'Bread & butter <1>', media: [] },
      ],
    })
  } finally {
    await publisher.close()
  }
})

test('a feed that has not changed is answered with 304', async () => {
  const publisher = await startPublisher({ title: 'Oven', about: '', format: 'RSS', items: [item(1)] })
  try {
    const etag = (await fetch(publisher.feedUrl)).headers.get('etag') ?? ''
    const again = (): Promise<Response> => fetch(publisher.feedUrl, { headers: { 'if-none-match': etag } })
    expect((await again()).status).toBe(304)
    publisher.publish(item(2))
    expect((await again()).status).toBe(200)
    expect(publisher.requests()).toEqual({ all: 3, unchanged: 1 })
  } finally {
    await publisher.close()
  }
})
