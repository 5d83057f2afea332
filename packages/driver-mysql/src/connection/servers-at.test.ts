import { expect, test } from 'vitest'
import { serversAt } from './servers-at.ts'
import { parseShardAddress } from './shard-address.ts'

const first = parseShardAddress('mysql://ada:secret@first:3307/one?tls=true', 'MySQL shard 0', undefined)

test.each([
  ['db3:3310/feed', { name: 'db3:3310/feed', host: 'db3', port: 3310, database: 'feed' }],
  ['DB3/Feed', { name: 'db3:3306/Feed', host: 'db3', port: 3306, database: 'Feed' }],
  ['[::1]:3310/feed', { name: '[::1]:3310/feed', host: '::1', port: 3310, database: 'feed' }],
  ['[::1]/feed', { name: '[::1]:3306/feed', host: '::1', port: 3306, database: 'feed' }],
  ['/run/my.sock:3306/feed', { name: '/run/my.sock:3306/feed', socketPath: '/run/my.sock' }],
])('the address %s has the user, the password and the TLS of the first shard', (address, expected) => {
  const { primary, replicas } = serversAt(address, first, {})
  expect(primary).toMatchObject({ ...expected, user: 'ada', tls: first.tls })
  expect(primary.password()).toBe('secret')
  expect(replicas).toEqual([])
})

test('the name of a shard is also its address, for each form of a server', () => {
  for (const text of ['mysql://h/feed', 'mysql://[::1]:3310/feed', 'mysql://H:1/f%C3%A9d']) {
    const { name } = parseShardAddress(text, 'MySQL shard 0', undefined)
    expect(serversAt(name, first, {}).primary.name).toBe(name)
  }
})

const EXPECTED =
  /^The address of a MySQL shard has to be host:port\/database, such as db3:3306\/feed, or a URL/

test.each([
  ['', '; got ""'],
  ['feed', '; got "feed"'],
  ['127.0.0.1', '; got "127.0.0.1"'],
  ['db3:3306', '; got "db3:3306"'],
  ['db3:/feed', '; got "db3:/feed"'],
  ['[::1]', '; got "[::1]"'],
  ['::1:3306/feed', '; got a text that may have a password'],
  ['user:secret:3306/feed', '; got a text that may have a password'],
  [`db3/${'d'.repeat(65)}`, '; got "db3/ddd'],
  ['user:secret@db3:3306/feed', '; got a text that may have a password'],
  ['user:secret/feed', '; got a text that may have a password'],
  ['secret 7', '; got a text that may have a password'],
])('the text %j is no address of a shard, and is shown unless it may have a password', (text, received) => {
  const asked = (): unknown => serversAt(text, first, {})
  expect(asked).toThrow(EXPECTED)
  expect(asked).toThrow(received)
  expect(asked).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  expect(asked).not.toThrow(/secret/)
})

test.each([
  ['db3:0/feed', '0'],
  ['db3:65536/feed', '65536'],
  ['127.0.0.1:99999/x', '99999'],
  ['[::1]:700000/feed', '700000'],
  ['/run/my.sock:70000/feed', '70000'],
])('the address %j is refused with the range of ports', (text, port) => {
  expect(() => serversAt(text, first, {})).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      message: `The address of a MySQL shard has a port that is not a whole number from 1 to 65535 but ${port}.`,
    }),
  )
})

test('digits that may be a password are in no message', () => {
  expect(() => serversAt('eve:99999/word@db3:3306', first, {})).toThrow(EXPECTED)
  expect(() => serversAt('eve:99999/word@db3:3306', first, {})).not.toThrow(/99999/)
})

test('connection gives the credentials and the server of an address, which keeps its name', () => {
  const asked: string[] = []
  const connection = (address: string): string => {
    asked.push(address)
    return 'mysql://eve:other@proxy:6033/feed'
  }
  const { primary } = serversAt('DB3/feed', first, { connection })
  expect(asked).toEqual(['db3:3306/feed'])
  expect(primary).toMatchObject({ name: 'db3:3306/feed', host: 'proxy', port: 6033, user: 'eve' })
})

test.each([
  [
    'a throw',
    () => {
      throw new Error('secret')
    },
    'threw an object of class Error',
  ],
  ['no value', () => undefined, 'has to return a URL or options for the shard db3:3306/feed; got nothing'],
  ['a number', () => 7, 'has to return a URL or options'],
  ['a text that is no URL', () => 'secret', 'MySQL shard db3:3306/feed'],
  ['a list', () => ['secret'], 'MySQL shard db3:3306/feed'],
])('%s of connection is refused without its text', (_, connection, words) => {
  const asked = (): unknown => serversAt('db3:3306/feed', first, { connection: connection as () => string })
  expect(asked).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  expect(asked).toThrow(words)
  expect(asked).not.toThrow(/secret/)
})
