import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LooseleafError } from 'looseleaf'
import { afterAll, expect, test } from 'vitest'
import { BadSetting, readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('arguments win over environment variables', () => {
  const env = { PORT: '4000', LOOSELEAF_DATA: join(folder, 'env'), HOST: '::1' }
  expect(readSettings([], env)).toMatchObject({
    port: 4000,
    host: '::1',
    place: join(folder, 'env'),
    files: [],
  })
  const args = ['--port', '0', '--data', join(folder, 'arg'), '--as', 'mira', '--', 'a.xml']
  expect(readSettings(args, env)).toMatchObject({
    port: 0,
    place: join(folder, 'arg'),
    as: 'mira',
    files: [resolve('a.xml')],
  })
})

test('an origin is normalized', () => {
  expect(readSettings(['--data', folder], {}).origin).toBeUndefined()
  expect(readSettings(['--data', folder, '--origin', ' HTTPS://Feed.Example.org:443/ '], {}).origin).toBe(
    'https://feed.example.org',
  )
  const env = { FEED_ORIGIN: 'http://feed.example.org:8080' }
  expect(readSettings(['--data', folder], env).origin).toBe('http://feed.example.org:8080')
})

test('paths are relative to the folder of the user', () => {
  const settings = readSettings(['--data', 'here', 'a.xml'], { INIT_CWD: folder })
  expect(settings).toMatchObject({ place: join(folder, 'here'), files: [join(folder, 'a.xml')] })
})

test('LOOSELEAF_SHARDS names the databases, and its text is not shown', () => {
  const env = { LOOSELEAF_SHARDS: 'mysql://me:secret@127.0.0.1:1/a,mysql://me:secret@127.0.0.1:2/b' }
  expect(JSON.stringify(readSettings([], env).place)).not.toContain('secret')
})

test.each([
  [['--port', 'many'], 'A port is a number from 0 to 65535; got “many”.'],
  [['--port', '70000'], 'A port is a number from 0 to 65535; got “70000”.'],
  [['--nonsense'], "Unknown option '--nonsense'. See --help."],
  [['--port'], "Option '--port <value>' argument missing. See --help."],
  [['--origin', 'feed.example.org'], 'An origin is the beginning of an address'],
  [['--origin', 'https://feed.example.org/path'], 'got “https://feed.example.org/path”.'],
  [['--origin', 'https://me:secret@feed.example.org'], 'got “https://feed.example.org”.'],
])('the arguments %j are rejected', (args, message) => {
  expect(() => readSettings(args, { LOOSELEAF_DATA: folder })).toThrow(message)
  expect(() => readSettings(args, { LOOSELEAF_DATA: folder })).toThrow(BadSetting)
})

test('a data folder that cannot be created is an error', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => readSettings(['--data', join(folder, 'file', 'sub')], {})).toThrow(
    'The folder for the data cannot be created',
  )
})

test('a start error is one line without a password', () => {
  const denied = new LooseleafError('SHARD_DENIED', 'Shard 127.0.0.1:3306/feed refuses the user.')
  expect(describeStartError(denied)).toContain('Check the user, the password')
  const foreign = new Error('connect to mysql://me:secret@127.0.0.1 failed\nat line 2')
  expect(describeStartError(foreign)).toBe('connect to mysql://127.0.0.1 failed')
  expect(describeStartError(Object.assign(new Error('x'), { code: 'EADDRINUSE' }))).toContain(
    'That port is taken',
  )
  expect(describeStartError('odd')).toBe('odd')
})

test('the site’s process fetches feeds unless FEED_CRAWL is elsewhere, and only from places that are named beside the public internet', () => {
  expect(readSettings([], {})).toMatchObject({ crawl: true, crawlAllow: [] })
  const env = { FEED_CRAWL: 'elsewhere', FEED_CRAWL_ALLOW: ' 127.0.0.1:8080, LOCALHOST:8081,[::1]:80 ' }
  expect(readSettings([], env)).toMatchObject({
    crawl: false,
    crawlAllow: ['127.0.0.1:8080', 'localhost:8081', '[::1]:80'],
  })
  expect(() => readSettings([], { FEED_CRAWL: 'no' })).toThrow(
    'FEED_CRAWL is “here” or “elsewhere”; got “no”.',
  )
})

test.each(['127.0.0.1', '*', 'http://localhost:80', 'localhost:99999', '127.0.0.1:80/x'])(
  'the place %s is no pair of host and port',
  (place) => {
    expect(() => readSettings([], { FEED_CRAWL_ALLOW: place })).toThrow(
      /^FEED_CRAWL_ALLOW is a list of hosts/,
    )
  },
)

test('sources are fetched by their schedule unless FEED_CRAWL_EVERY names seconds', () => {
  expect(readSettings([], {}).crawlEveryMs).toBeUndefined()
  expect(readSettings([], { FEED_CRAWL_EVERY: ' 2.5 ' }).crawlEveryMs).toBe(2_500)
  expect(() => readSettings([], { FEED_CRAWL_EVERY: '0' })).toThrow(
    'FEED_CRAWL_EVERY is a number of seconds from 0.1 to 86400; got “0”.',
  )
})
