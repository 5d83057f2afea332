import { expect, test } from 'vitest'
import { isCopy } from './compare-entities.ts'

const row = { id: Buffer.alloc(16), updated: 1, addedId: 2, version: 3, checksum: 4, bodyBytes: 5 }

test('a copy has the version, the checksum and the length of its row, at another time and place', () => {
  expect(isCopy(row, { ...row, updated: 9, addedId: 9 })).toBe(true)
  expect(isCopy(row, undefined)).toBe(false)
  for (const part of ['version', 'checksum', 'bodyBytes'] as const)
    expect(isCopy(row, { ...row, [part]: 9 })).toBe(false)
})
