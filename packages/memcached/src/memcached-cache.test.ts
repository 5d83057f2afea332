import { describe, expect, test } from 'vitest'
import { memcachedCache } from './memcached-cache.ts'

const good = { servers: ['127.0.0.1:11211'], maxStalenessMs: 10_000 }

test('memcachedCache returns a factory without connecting', () => {
  expect(memcachedCache(good).maxStalenessMs).toBe(10_000)
})

describe('bad options', () => {
  test.each([
    [
      { ...good, maxStalenessMs: 3_999 },
      /maxStalenessMs of memcachedCache has to be .* 4000 or more; got 3999/,
    ],
    [{ servers: good.servers }, /memcachedCache takes \{ maxStalenessMs \}/],
    [{ ...good, servers: [] }, /list of servers, each 'host:port', .*; got an array of 0 elements/],
    [
      { ...good, servers: [...good.servers, 'localhost'] },
      /^The server 1 of memcachedCache has to be 'host:port', by name or IPv4 address; got 'localhost'\.$/,
    ],
    [{ ...good, servers: ['[::1]:11211'] }, /server 0 .*'host:port', .*; got a string of 11 characters/],
    // Messages contain no password.
    [{ ...good, servers: ['ann:secret@cache'] }, /server 0 .*; got a string of 16 characters/],
    [{ ...good, servers: '127.0.0.1:11211' }, /servers of memcachedCache has to be an array/],
    [
      { ...good, namespace: 'of two words' },
      /namespace of memcachedCache has to be a text of 1 to 40 letters, digits, _ and -; got a string of 12 characters/,
    ],
    [{ ...good, namespace: '' }, /namespace of memcachedCache/],
    [{ ...good, namespace: 'n'.repeat(41) }, /namespace of memcachedCache/],
    [{ ...good, timeoutMs: 0 }, /timeoutMs of memcachedCache/],
    [{ ...good, ttl: 5 }, /no option "ttl"/],
  ])('memcachedCache rejects %j', (options, message) => {
    expect(() => memcachedCache(options as never)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
    )
  })
})
