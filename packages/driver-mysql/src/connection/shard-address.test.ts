import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseShardAddress } from './shard-address.ts'

describe('a URL', () => {
  test('a URL has a host, a port, a user, a password and a database', () => {
    const address = parseShardAddress(
      'mysql://ad%40m:p%40ss%3A%2F%23@db.example:3307/fe%C3%A9d',
      'MySQL shard 0',
      undefined,
    )
    expect(address).toMatchObject({
      host: 'db.example',
      port: 3307,
      user: 'ad@m',
      database: 'feéd',
      tls: undefined,
    })
    expect(address.password()).toBe('p@ss:/#')
    expect(address.name).toBe('db.example:3307/feéd')
  })

  test('a URL may omit the port, the user and the password', () => {
    const address = parseShardAddress('mariadb://localhost/feed', 'MySQL shard 0', undefined)
    expect(address).toMatchObject({ host: 'localhost', port: 3306, user: 'root', database: 'feed' })
    expect(address.password()).toBe('')
  })

  test('a URL may have an IPv6 address', () => {
    expect(parseShardAddress('mysql://[::1]:3306/feed', 'MySQL shard 0', undefined)).toMatchObject({
      host: '::1',
      name: '[::1]:3306/feed',
    })
  })

  test("a URL's tls overrides the option for all shards", () => {
    const verified = { verifyIdentity: true, rejectUnauthorized: true }
    expect(parseShardAddress('mysql://h/feed?tls=true', 'MySQL shard 0', undefined).tls).toEqual(verified)
    expect(parseShardAddress('mysql://h/feed?tls=false', 'MySQL shard 0', true).tls).toBeUndefined()
    expect(parseShardAddress('mysql://h/feed', 'MySQL shard 0', true).tls).toEqual(verified)
    expect(parseShardAddress('mysql://h/feed?tls=true', 'MySQL shard 0', undefined).name).toBe('h:3306/feed')
  })

  for (const [url, message] of [
    ['nonsense secret', /shard 3 is not a URL/],
    ['postgres://u:secret@h/feed', /shard 3 has to begin with mysql/],
    ['mysql:/u:secret@h', /shard 3 has to begin with mysql:\/\//],
    ['mysql://u:secret@h', /shard 3 has to name one database/],
    ['mysql://u:secret@h/', /has to name one database/],
    ['mysql://u:secret@h/a/b', /has to name one database/],
    ['mysql://u:x@h/feed?secret=true', /shard 3 may have \?tls=true or \?tls=false .* another parameter/],
    ['mysql://u:x@h/feed?tls=secret', /may have \?tls=true or \?tls=false/],
    ['mysql://u:secret@h/feed?tls=true&tls=false', /may have \?tls=true or \?tls=false/],
    ['mysql://u:secret@h/feed?tls=true&ca=x', /may have \?tls=true or \?tls=false/],
    ['mysql://u:secret@h/feed#x', /has a #/],
    ['mysql://u:sec%ret@h/feed', /password in which a % is not followed/],
    [
      'mysql://u:secret@h:99999/feed',
      /shard 3 has a port that is not a whole number from 1 to 65535 but 99999\.$/,
    ],
    ['mysql://u:secret@[::1]:65536/feed', /shard 3 has a port .* but 65536\.$/],
    // The port is right, and the host is wrong.
    ['mysql://u:secret@<host>:65535/feed', /is not a URL/],
    // The number may be part of a password with a slash, or one without a host.
    ['mysql://u:99999secret/x@h/feed', /is not a URL/],
    ['mysql://u:99999/secret@h/feed', /is not a URL/],
    ['mysql://u:secret@x:99999/y@h/feed', /is not a URL/],
    ['mysql://root:98765/feed', /is not a URL/],
  ] as const) {
    test(`${url.replace(/sec%?ret/, '…')} is refused, without repeating it`, () => {
      expect(() => parseShardAddress(url, 'MySQL shard 3', undefined)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
      )
      expect(() => parseShardAddress(url, 'MySQL shard 3', undefined)).not.toThrow(/sec%?ret/)
    })
  }
})

describe('options', () => {
  const options = { host: 'h', database: 'feed', password: 'secret' }

  for (const [wrong, message] of [
    [{ database: '' }, /database of 1 to 64 characters/],
    [{ database: 'x'.repeat(65) }, /database/],
    [{ port: 0 }, /port that is not a whole number from 1 to 65535 but 0\.$/],
    [{ port: '3306' }, /port.*a string of 4 characters/],
    [{ user: 5 }, /user.*a number/],
    [{ password: 5 }, /password that is a string or a function that gives one; got a number/],
    [{ pasword: 'x' }, /no option "pasword"/],
    [{ tls: 'yes' }, /tls that is a string/],
    [{ tls: [] }, /tls that is an array/],
    [{ tls: { ca: 5 } }, /PEM for ca under tls, as a string or a Buffer; got a number/],
    [{ tls: { cert: 'secret', key: 'secret' } }, /a cert and a key under tls that are not PEM/],
    [{ tls: { key: null } }, /PEM for key under tls, .*null/],
    [{ tls: { rejectUnauthorized: false } }, /no option "rejectUnauthorized" under tls/],
  ] as const) {
    test(`an invalid ${Object.keys(wrong)[0]} is rejected by its name`, () => {
      expect(() => parseShardAddress({ ...options, ...wrong }, 'MySQL shard 0', undefined)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(message) }),
      )
    })
  }

  test('a value that is neither a URL nor an object is rejected', () => {
    for (const wrong of [undefined, null, 5]) {
      expect(() => parseShardAddress(wrong, 'MySQL shard 0', undefined)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION' }),
      )
    }
  })

  test("a shard's tls overrides the option for all shards", () => {
    const verified = { verifyIdentity: true, rejectUnauthorized: true }
    expect(parseShardAddress(options, 'MySQL shard 0', true).tls).toEqual(verified)
    expect(parseShardAddress({ ...options, tls: false }, 'MySQL shard 0', true).tls).toBeUndefined()
    expect(parseShardAddress({ ...options, tls: { ca: 'PEM' } }, 'MySQL shard 0', undefined).tls).toEqual({
      ...verified,
      ca: 'PEM',
    })
  })

  test('an inspection of an address does not show the password', () => {
    const address = parseShardAddress(options, 'MySQL shard 0', undefined)
    expect(inspect(address, { depth: 9, showHidden: true }) + JSON.stringify(address)).not.toMatch(/secret/)
  })
})
