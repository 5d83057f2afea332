import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketRouter } from '@looseleaf/router'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { jsonCodec } from '@looseleaf/codec'
import { expect, onTestFinished, test } from 'vitest'
import { defineConfig } from './define-config.ts'
import { checkConfig, findConfig, loadConfig } from './load-config.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'looseleaf-test-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

test('a config with every property is accepted unchanged', () => {
  const config = defineConfig({
    shards: memoryShards(2),
    indexes: [byLink],
    router: bucketRouter({ shards: 2 }),
    codec: jsonCodec(),
    deleteDelayMs: 300_000,
    writeOrder: 'index-first',
    onIndexFailure: 'defer',
  })
  expect(checkConfig(config, 'looseleaf.config.ts')).toBe(config)
})

test.each([
  [7, 'the default export has to be an object such as { shards: … }; got a number.'],
  [[], 'the default export has to be an object such as { shards: … }; got an array of 0 elements.'],
  [
    { shards: ['mysql://u:hunter2@h/d'] },
    "shards has to be a text such as 'mysql://…,mysql://…', or a result of mysqlShards(…) or sqliteShards(…); got an array of 1 element.",
  ],
  [
    { shards: 'memory:1', indices: [] },
    '"indices" is not a property of a config; it has shards, indexes, kinds, router, codec, deleteDelayMs, queryTimeMs, writeOrder, onIndexFailure.',
  ],
  [
    { shards: 'memory:1', indexes: byLink },
    'indexes has to be an array of results of defineIndex(…); got an object.',
  ],
  [
    { shards: 'memory:1', indexes: ['by_link'] },
    'indexes[0] has to be a result of defineIndex(…); got a string of 7 characters.',
  ],
  [
    { shards: 'memory:1', indexes: [byLink, { ...byLink, shardOn: 'user' }] },
    "indexes[1]: Index by_link needs shardOn to be one of 'link', 'id'",
  ],
  [
    { shards: 'memory:1', deleteDelayMs: '5m' },
    'deleteDelayMs has to be a number of milliseconds, 0 or more; got',
  ],
  [{ shards: 'memory:1', deleteDelayMs: -1 }, 'deleteDelayMs has to be'],
  [{ shards: 'memory:1', writeOrder: 'any' }, "writeOrder has to be 'index-first' or 'entity-first'; got"],
  [{ shards: 'memory:1', onIndexFailure: 'wait' }, "onIndexFailure has to be 'fail' or 'defer'; got"],
  [{ shards: 'memory:1', indexes: [byLink, byLink] }, 'indexes[1]: the name by_link occurs twice.'],
  [
    { shards: 'memory:1', router: { shards: 2 } },
    'router has to be a result of bucketRouter(…) or moduloRouter(…); got an object.',
  ],
  [
    { shards: 'memory:1', codec: 'json' },
    'codec has to be a result of envelopeCodec(…); got a string of 4 characters.',
  ],
])('the error of a wrong config names the file, the property and the expectation (%#)', (config, words) => {
  const check = (): unknown => checkConfig(config, 'looseleaf.config.ts')
  expect(check).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  expect(check).toThrow(`looseleaf.config.ts: ${words}`)
  expect(check).not.toThrow('hunter2')
})

test('findConfig returns the nearest config file, .ts before .js before .mjs', () => {
  const top = folder()
  const deep = join(top, 'a', 'b')
  mkdirSync(deep, { recursive: true })
  writeFileSync(join(top, 'looseleaf.config.mjs'), '')
  expect(findConfig(deep)).toBe(join(top, 'looseleaf.config.mjs'))
  writeFileSync(join(top, 'a', 'looseleaf.config.js'), '')
  expect(findConfig(deep)).toBe(join(top, 'a', 'looseleaf.config.js'))
  writeFileSync(join(top, 'a', 'looseleaf.config.ts'), '')
  expect(findConfig(deep)).toBe(join(top, 'a', 'looseleaf.config.ts'))
})

test('the error of a config that is missing, does not load or exports nothing names its path', async () => {
  const path = folder()
  await expect(loadConfig(join(path, 'none.mjs'))).rejects.toThrow('none.mjs: there is no such config file.')
  writeFileSync(join(path, 'broken.mjs'), 'export default {')
  await expect(loadConfig(join(path, 'broken.mjs'))).rejects.toThrow('broken.mjs cannot be loaded: ')
  writeFileSync(join(path, 'empty.mjs'), 'export const config = {}')
  await expect(loadConfig(join(path, 'empty.mjs'))).rejects.toThrow('empty.mjs has no default export')
})
