import fc from 'fast-check'
import { errorOf } from '@looseleaf-tooling/kit/errors'
import { expect, test } from 'vitest'
import { defineKey, keyFunction } from './key-functions.ts'

const derive = (name: string, value: unknown): unknown => keyFunction(name)?.derive(value as never)

test.each([
  ['lower', 'How FRIENDFEED', 'how friendfeed'],
  ['lower', 'ÄÖ ẞ', 'äö ß'],
  // `lower` keeps composed and decomposed letters apart: its keys are stored.
  ['lower', 'E\u0301', 'e\u0301'],
  ['lowerNfc', 'How FRIENDFEED', 'how friendfeed'],
  ['lowerNfc', '\u00c9', '\u00e9'],
  ['lowerNfc', 'E\u0301', '\u00e9'],
  // The signs for kelvin and angstrom are compatibility forms of letters.
  ['lowerNfc', '\u212a\u212b', 'k\u00e5'],
  ['prefix(1)', 'a', 'a'],
  ['prefix(3)', 'abcd', 'abc'],
  ['prefix(3)', 'ab', 'ab'],
  ['prefix(2)', '\u{1f600}\u{1f600}\u{1f600}', '\u{1f600}\u{1f600}'],
  ['prefix(999)', '', ''],
  ['host', 'https://Example.com:8443/a?b#c', 'example.com'],
  ['host', 'http://user:pw@example.com/', 'example.com'],
  ['host', 'Example.com', 'example.com'],
  ['host', 'example.com:80', 'example.com'],
  ['host', 'https://bücher.example/', 'xn--bcher-kva.example'],
  ['host', 'bücher.example', 'xn--bcher-kva.example'],
  ['host', 'http://[::1]:80/', '[::1]'],
  ['host', '[::1]:80', '[::1]'],
  ['host', 'foo://EXAMPLE/', 'example'],
  // The first 16 bytes of the SHA-256 of `abc`, as FIPS 180-2 has it.
  ['hash', 'abc', 'ba7816bf-8f01-cfea-4141-40de5dae2223'],
])('%s of %o is %o', (name, value, key) => {
  expect(derive(name, value)).toBe(key)
})

test.each([
  '',
  'no host at all',
  'http://',
  'http://256.1.1.1',
  'http://exa mple.com',
  'mailto:a@example.com',
  'C:\\x',
  'a/b',
  'data:,x',
  'example.com:99999',
])('%o has no host', (value) => {
  expect(derive('host', value)).toBeUndefined()
})

test.each([
  ['hour', '2009-02-27T12:34:56.789Z', '2009-02-27T12:00:00.000Z'],
  ['day', '2009-02-27T23:59:59.999Z', '2009-02-27T00:00:00.000Z'],
  ['day', '2009-02-27T00:00:00.000Z', '2009-02-27T00:00:00.000Z'],
  ['month', '2009-02-28T12:34:56.789Z', '2009-02-01T00:00:00.000Z'],
  ['month', '2008-02-29T00:00:00.000Z', '2008-02-01T00:00:00.000Z'],
  ['hour', '1969-12-31T23:59:00.000Z', '1969-12-31T23:00:00.000Z'],
  ['day', '1969-12-31T23:59:00.000Z', '1969-12-31T00:00:00.000Z'],
  ['month', '1969-12-31T23:59:00.000Z', '1969-12-01T00:00:00.000Z'],
])('the %s of %s begins at %s', (name, time, begins) => {
  expect(derive(name, new Date(time))).toEqual(new Date(begins))
})

test('the key of a key is the key, so a query may give either', () => {
  const texts = fc.oneof(fc.string({ unit: 'grapheme' }), fc.webUrl(), fc.domain(), fc.string())
  fc.assert(
    fc.property(texts, fc.constantFrom('lower', 'lowerNfc', 'prefix(3)', 'host'), (value, name) => {
      const key = derive(name, value)
      // The host of a URL with another scheme may not be a host of an https URL.
      if (key === undefined || (name === 'host' && !/^https?:/i.test(value))) return
      expect(derive(name, key)).toBe(key)
    }),
  )
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), fc.constantFrom('hour', 'day', 'month'), (time, name) => {
      const begins = derive(name, time)
      expect(derive(name, begins)).toEqual(begins)
    }),
  )
})

test('lowerNfc gives one key to composed and decomposed letters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const key = derive('lowerNfc', text)
      for (const form of ['NFC', 'NFD']) expect(derive('lowerNfc', text.normalize(form))).toBe(key)
    }),
  )
})

test.each(['prefix(0)', 'prefix(1000)', 'prefix(03)', 'prefix()', 'upper', 'slug@1', 'constructor', ''])(
  'there is no key %o',
  (name) => {
    expect(keyFunction(name)).toBeUndefined()
  },
)

test('defineKey registers a key function by name and version', () => {
  const domain = defineKey({
    name: 'mail_domain',
    version: 2,
    from: 'string',
    derive: (mail: string) => mail.split('@')[1],
  })
  expect(domain).toMatchObject({ name: 'mail_domain@2', from: 'string', to: 'string' })
  expect(keyFunction('mail_domain@2')).toBe(domain)
  expect(keyFunction('mail_domain@1')).toBeUndefined()
  const other = { name: 'mail_domain', version: 2, from: 'string' as const }
  // A module that is loaded twice defines the key again.
  defineKey({ ...other, derive: (mail: string) => mail.split('@')[1] })
  expect(errorOf(() => defineKey({ ...other, derive: (mail: string) => mail }))).toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(/mail_domain@2 is defined twice, differently/),
  })
})

test.each<[string, object, RegExp]>([
  ['a name with capitals', { name: 'Slug' }, /name of a key begins with a letter .* got/],
  ['a version below 1', { version: 0 }, /version of the key slug has to be a whole number from 1 on; got 0/],
  ['a version that is not whole', { version: 1.5 }, /got 1.5/],
  ['an unknown type', { from: 'text' }, /key slug needs from and to to be one of uuid, string, .* got/],
  [
    'an unknown option',
    { unique: true },
    /key slug has no option "unique"; there are name, version, from, to, derive/,
  ],
  ['no function', { derive: undefined }, /key slug needs a function as derive; got nothing/],
])('defineKey refuses %s', (_, wrong, message) => {
  const options = { name: 'slug', version: 1, from: 'string' as const, derive: String, ...wrong }
  expect(errorOf(() => defineKey(options))).toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(message),
  })
})

test.each([undefined, null, 'slug'])('defineKey refuses options that are no object: %o', (options) => {
  expect(errorOf(() => defineKey(options as never))).toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(/A key needs options such as/),
  })
})
