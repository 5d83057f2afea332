import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { bucketRouter, moduloRouter } from './index.ts'

describe.each([
  ['bucketRouter', bucketRouter],
  ['moduloRouter', moduloRouter],
])('%s', (_, createRouter) => {
  test.each([undefined, null, 2, 'two', [2]])('options of %s are BAD_OPTION', (options) => {
    expect(codeOf(() => createRouter(options as never))).toBe('BAD_OPTION')
  })

  test('a time without now is BAD_OPTION', () => {
    expect(codeOf(() => createRouter({ shards: 2, time: 5 as never }))).toBe('BAD_OPTION')
  })

  test('a time may be a function with a method now, such as Date', () => {
    expect(createRouter({ shards: 2, time: Date }).newId()).toHaveLength(16)
  })

  test.each([undefined, null, 'key', 5, [1]])('the key %s is BAD_OPTION', (key) => {
    expect(codeOf(() => createRouter({ shards: 2 }).shardOfKey(key as never))).toBe('BAD_OPTION')
  })
})
