import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLooseleafError } from '@looseleaf/core'
import { expect, onTestFinished, test } from 'vitest'
import { shardsFrom, type ShardsFromOptions } from './shards-from.ts'

test('each MySQL URL of the text is a shard', () => {
  expect(shardsFrom('mysql://u:p@127.0.0.1:3306/feed').shardCount).toBe(1)
  expect(shardsFrom('mariadb://u:p@127.0.0.1:3306/feed').shardCount).toBe(1)
  expect(shardsFrom(' mysql://u:p@a/feed , mysql://u:p@b/feed,mysql://c/feed ').shardCount).toBe(3)
})

test('a MySQL URL may set tls', () => {
  expect(shardsFrom('mysql://u:p@a/feed?tls=true,mysql://u:p@b/feed?tls=false').shardCount).toBe(2)
})

test('a comma inside a URL does not split it', () => {
  expect(shardsFrom('mysql://u:a,b@127.0.0.1/feed,mysql://u:a,b@127.0.0.2/feed').shardCount).toBe(2)
})

test('memory: takes the number of shards, 1 by default', () => {
  expect(shardsFrom('memory:3').shardCount).toBe(3)
  expect(shardsFrom('memory:').shardCount).toBe(1)
})

test('a relative SQLite folder starts at relativeTo', async () => {
  const base = mkdtempSync(join(tmpdir(), 'looseleaf-test-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const driver = await shardsFrom('sqlite:data?shards=2', { relativeTo: base }).connect()
  await driver.close()
  expect(
    readdirSync(join(base, 'data'))
      .filter((name) => name.endsWith('.sqlite'))
      .toSorted(),
  ).toEqual(['shard-0.sqlite', 'shard-1.sqlite'])
})

test('an absolute SQLite folder may have the three slashes of a URL', async () => {
  const base = mkdtempSync(join(tmpdir(), 'looseleaf-test-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const driver = await shardsFrom(`sqlite://${base}/data`).connect()
  await driver.close()
  expect(readdirSync(join(base, 'data'))).toContain('shard-0.sqlite')
})

const secret = 'hunter2'

test.each([
  ['', 'Shards are given as'],
  [secret, 'Shards are given as'],
  [`postgres://u:${secret}@h/d`, 'Shards are given as'],
  [`mysql://u:${secret}@h/d,postgres://u:${secret}@h/d`, 'number 1 of the list'],
  [`mysql://u:${secret}@h:port/d`, 'shard 0'],
  [`mysql://u:${secret}@h/d,`, 'ends with a comma'],
  [`mysql://u:${secret}@h`, 'shard 0'],
  [`mysql://u:p@h/d?${secret}=true`, 'may have ?tls=true'],
  ['memory:0', 'from 1 to'],
  [`memory:${secret}`, 'from 1 to'],
  ['sqlite:', 'needs the folder'],
  ['sqlite:?shards=2', 'needs the folder'],
  ['sqlite:data?shards=two', 'from 1 to'],
  [`sqlite:data?${secret}=2`, 'one parameter'],
  [`sqlite://${secret}`, 'without the slashes of a URL'],
  [`sqlite://./${secret}?shards=2`, 'without the slashes of a URL'],
  [`sqlite:~/${secret}`, 'no shell has replaced the ~'],
  ['sqlite:~', 'no shell has replaced the ~'],
])('the error for %j does not quote the text', (text, words) => {
  let error: unknown
  try {
    shardsFrom(text)
  } catch (thrown) {
    error = thrown
  }
  if (!isLooseleafError(error, 'BAD_OPTION')) throw new Error('a BAD_OPTION was expected', { cause: error })
  expect(error.message).toContain(words)
  expect(error.message).not.toContain(secret)
})

test.each([
  [null, 'options as an object; got null'],
  ['data', 'options as an object; got a string'],
  [{ relativeto: 'data' }, 'no option "relativeto"'],
  [{ create: 'no' }, 'create of shardsFrom has to be true or false; got a string'],
  [{ relativeTo: 5 }, 'relativeTo of shardsFrom has to be the path of a folder; got 5'],
])('the error for the options %j names the option', (options, words) => {
  for (const text of ['sqlite:data', 'memory:2']) {
    expect(() => shardsFrom(text, options as ShardsFromOptions)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(words) }),
    )
  }
})
