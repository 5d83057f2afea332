import type { LookupFunction } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { answer, openFeedServer, redirect, rss, type FeedServer } from '../../../test/feed-server.ts'
import { createGuard } from '../guard/guard.ts'
import { createFetcher, type Fetched, type Fetcher, type FetcherOptions } from './fetch-feed.ts'

let server: FeedServer
let fetcher: Fetcher
beforeAll(async () => {
  server = await openFeedServer()
  fetcher = newFetcher()
})
afterAll(async () => {
  await fetcher.close()
  await server.close()
})

function newFetcher(options: Partial<FetcherOptions> & { lookup?: LookupFunction } = {}): Fetcher {
  const { lookup, ...others } = options
  const guard = createGuard({ allow: [server.place], ...(lookup && { lookup }) })
  return createFetcher({ guard, ...others })
}

/** Returns a fetcher with its own options, which is closed at the end of the test. */
function ownFetcher(options: Parameters<typeof newFetcher>[0]): Fetcher {
  const own = newFetcher(options)
  onTestFinished(() => own.close())
  return own
}

const fetchAt = (path: string): Promise<Fetched> => fetcher.fetch(`${server.origin}${path}`)

async function reasonAt(path: string, by: Fetcher = fetcher): Promise<string> {
  const fetched = await by.fetch(`${server.origin}${path}`)
  return fetched.type === 'failed' ? fetched.failure.reason : fetched.type
}

test('a fetch returns the body with the headers that name its version', async () => {
  const headers = { etag: 'W/"a, b"', 'last-modified': 'yesterday, at noon', 'cache-control': 'max-age=600' }
  server.on('/feed', answer(rss(['a']), headers))
  expect(await fetchAt('/feed')).toEqual({
    type: 'body',
    address: `${server.origin}/feed`,
    movedTo: undefined,
    etag: 'W/"a, b"',
    lastModified: 'yesterday, at noon',
    freshMs: 600_000,
    bytes: Buffer.from(rss(['a'])),
  })
})

test('a conditional fetch sends the stored headers as they are, and status 304 is no body', async () => {
  server.on('/same', (request, response) => {
    const { 'if-none-match': etag, 'if-modified-since': since } = request.headers
    response.writeHead(etag === '"x"' && since === 'long ago' ? 304 : 500, { etag: '"x"' }).end()
  })
  const fetched = await fetcher.fetch(`${server.origin}/same`, { etag: '"x"', lastModified: 'long ago' })
  expect(fetched).toMatchObject({ type: 'unchanged', etag: '"x"', lastModified: undefined })
})

test('a fetch names the site and the number of followers', async () => {
  server.on('/who', answer(''))
  const own = ownFetcher({ origin: 'https://feed.example.org' })
  await own.fetch(`${server.origin}/who`, { followers: 12 })
  const sent = server.requests.at(-1)?.headers['user-agent']
  expect(sent).toBe('Looseleaf-Feed (+https://feed.example.org; 12 followers)')
})

test('a compressed body ends at the limit of its decompressed size', async () => {
  const small = gzipSync(rss(['a']))
  const bomb = gzipSync(Buffer.alloc(3 * 1024 * 1024))
  expect(bomb.length).toBeLessThan(10_000)
  const gzip = { 'content-encoding': 'gzip' }
  server.on('/small', (_request, response) => response.writeHead(200, gzip).end(small))
  server.on('/bomb', (_request, response) => response.writeHead(200, gzip).end(bomb))
  const own = ownFetcher({ maxBytes: 2 * 1024 * 1024 })
  expect(await reasonAt('/small', own)).toBe('body')
  expect(await reasonAt('/bomb', own)).toBe('It is larger than 2 MB.')
})

test('a body that never ends is broken off at the limit of size', async () => {
  let closed = false
  server.on('/endless', (_request, response) => {
    response.on('close', () => (closed = true))
    const write = (): void => {
      while (!closed && response.write(Buffer.alloc(65_536)));
      if (!closed) response.once('drain', write)
    }
    write()
  })
  expect(await reasonAt('/endless', ownFetcher({ maxBytes: 1024 * 1024 }))).toBe('It is larger than 1 MB.')
  await expect.poll(() => closed).toBe(true)
})

test('a body that drips is broken off at the limit of time', async () => {
  server.on('/drip', (_request, response) => {
    const timer = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(timer))
  })
  expect(await reasonAt('/drip', ownFetcher({ timeoutMs: 100 }))).toBe('It takes longer than 0.1 seconds.')
})

test('permanent redirects are told from others, and a loop ends', async () => {
  server.on('/new', answer(rss(['a'])))
  server.on('/moved', redirect(301, '/moved-2'))
  server.on('/moved-2', redirect(308, '/new'))
  server.on('/for-now', redirect(302, '/moved-2'))
  server.on('/then-for-now', redirect(301, '/for-now'))
  server.on('/loop', redirect(301, '/loop'))
  const movedTo = async (path: string): Promise<unknown> => {
    const fetched = await fetchAt(path)
    return fetched.type === 'body' ? [fetched.address, fetched.movedTo] : fetched
  }
  const at = (path: string): string => `${server.origin}${path}`
  expect(await movedTo('/moved')).toEqual([at('/new'), at('/new')])
  expect(await movedTo('/for-now')).toEqual([at('/new'), undefined])
  expect(await movedTo('/then-for-now')).toEqual([at('/new'), at('/for-now')])
  expect(await reasonAt('/loop')).toBe('It redirects more than 5 times.')
})

test.each([
  'http://127.0.0.1/',
  'http://127.0.0.1:22/',
  'http://169.254.169.254/latest/',
  'http://[::ffff:10.0.0.1]/',
  'http://2130706433/',
  'http://0177.0.0.1/',
  'file:///etc/passwd',
])('a redirect to %s is not followed', async (target) => {
  server.on('/inside', redirect(302, target))
  expect(await reasonAt('/inside')).toMatch(
    /^It redirects to .*(public internet|cannot be fetched|can be fetched)/,
  )
})

test('a redirect loses its user and password', async () => {
  server.on('/open', answer('text'))
  server.on('/secret', redirect(302, `http://user:word@${server.place}/open`))
  expect(await fetchAt('/secret')).toMatchObject({ type: 'body', address: `${server.origin}/open` })
  expect(server.requests.at(-1)?.headers.authorization).toBeUndefined()
})

test.each([['10.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['::1'], ['::ffff:169.254.169.254']])(
  'a name that resolves to %s is refused when the connection is opened',
  async (...addresses) => {
    const asked: string[] = []
    const own = ownFetcher({
      lookup: (hostname, _options, callback) => {
        asked.push(hostname)
        const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
        callback(null, found)
      },
    })
    const fetched = await own.fetch('http://rebinding.example/')
    expect(fetched).toEqual({
      type: 'failed',
      failure: { reason: 'The address is not on the public internet.' },
    })
    expect(asked).toEqual(['rebinding.example'])
  },
)

test('a name that does not exist, and a closed port, are reasons', async () => {
  const own = ownFetcher({
    lookup: (_hostname, _options, callback) =>
      callback(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }), ''),
  })
  const fetched = await own.fetch('https://missing.example/')
  expect(fetched).toEqual({ type: 'failed', failure: { reason: 'There is no server of this name.' } })
  const other = await openFeedServer()
  await other.close()
  const guard = createGuard({ allow: [other.place] })
  const closed = createFetcher({ guard })
  onTestFinished(() => closed.close())
  expect(await closed.fetch(other.origin)).toMatchObject({
    failure: { reason: 'Its server refuses connections.' },
  })
})

test('a server that breaks off, and an answer that is no HTTP, are reasons', async () => {
  server.on('/broken', (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x')
    response.socket?.destroy()
  })
  server.on('/noise', (_request, response) => response.socket?.end('noise\r\n\r\n'))
  server.on('/not-gzip', answer('plain', { 'content-encoding': 'gzip' }))
  expect(await reasonAt('/broken')).toBe('Its server broke the connection off.')
  expect(await reasonAt('/noise')).toBe('Its answer is not well-formed.')
  expect(await reasonAt('/not-gzip')).toBe('Its answer is not well-formed.')
})

test('a refusal keeps the wait that its server asks for, as seconds or as a date', async () => {
  const at = new Date(Date.now() + 7_200_000)
  server.on('/slower', answer('', { 'retry-after': '120' }, 429))
  server.on('/later', answer('', { 'retry-after': at.toUTCString() }, 503))
  expect(await fetchAt('/slower')).toMatchObject({
    failure: { status: 429, retryAfterMs: 120_000, reason: 'Its server asks for fewer visits (status 429).' },
  })
  const fetched = await fetchAt('/later')
  const wait = fetched.type === 'failed' ? (fetched.failure.retryAfterMs ?? 0) : 0
  expect(wait).toBeGreaterThan(7_000_000)
  expect(wait).toBeLessThanOrEqual(7_200_000)
})

test('a check for browsers is told from other refusals', async () => {
  server.on('/check', answer('<html>', { 'cf-mitigated': 'challenge' }, 403))
  server.on('/no', answer('', {}, 403))
  expect(await reasonAt('/check')).toBe('Its server asks for a check that only a browser can pass.')
  expect(await reasonAt('/no')).toBe('Its server refuses this site (status 403).')
})

test('an aborted fetch ends at once', async () => {
  const abort = new AbortController()
  server.on('/silent', () => abort.abort())
  const fetched = await fetcher.fetch(`${server.origin}/silent`, { signal: abort.signal })
  expect(fetched.type).toBe('failed')
})

test('closing ends fetches in flight', async () => {
  const own = newFetcher()
  const reached = Promise.withResolvers<void>()
  server.on('/hanging', () => reached.resolve())
  const fetching = own.fetch(`${server.origin}/hanging`)
  await reached.promise
  await own.close()
  expect((await fetching).type).toBe('failed')
})

test('a server without https at the address is no matter of its certificate', async () => {
  const fetched = await fetcher.fetch(`https://${server.place}/feed`)
  expect(fetched.type === 'failed' && fetched.failure.reason).toBe(
    'Its server does not speak https there. If it has none, begin the address with http://.',
  )
})
