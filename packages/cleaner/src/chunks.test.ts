import { expect, test } from 'vitest'
import { chunks } from './chunks.ts'
import { createPageSize } from './page-size.ts'

test('a list in pieces is the list', () => {
  expect([...chunks([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]])
  expect([...chunks([1, 2], 2)]).toEqual([[1, 2]])
  expect([...chunks([], 2)]).toEqual([])
})

const bodies = (...bytes: (number | null)[]): { body: Uint8Array | null }[] =>
  bytes.map((length) => ({ body: length === null ? null : new Uint8Array(length) }))
const MIB = 1024 * 1024

test('a page begins small and doubles, up to what it may have', () => {
  const size = createPageSize(300)
  const limits = [size.limit]
  for (let i = 0; i < 4; i++) {
    size.saw(bodies(10, null))
    limits.push(size.limit)
  }
  expect(limits).toEqual([64, 128, 256, 300, 300])
  expect(createPageSize(7).limit).toBe(7)
})

test('a page has as many bodies as fit into eight MiB, and one at the least', () => {
  const size = createPageSize(500)
  size.saw(bodies(MIB, MIB))
  expect(size.limit).toBe(8)
  // On the average of a page, in which some have none.
  size.saw(bodies(MIB, null))
  expect(size.limit).toBe(16)
  size.saw(bodies(9 * MIB))
  expect(size.limit).toBe(1)
  size.saw([])
  expect(size.limit).toBe(1)
  size.saw(bodies(null))
  expect(size.limit).toBe(2)
})
