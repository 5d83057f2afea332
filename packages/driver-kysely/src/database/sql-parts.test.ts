import { expect, test } from 'vitest'
import { checkWriteRows, idChunks, MAX_WRITE_ROWS } from './sql-parts.ts'

const ids = (count: number): Buffer[] => Array.from({ length: count }, (_, i) => Buffer.from(String(i)))

test('lists of ids are rounded up to powers of two by repeating the last', () => {
  for (const [count, rounded] of [
    [1, 1],
    [2, 2],
    [3, 4],
    [15, 16],
    [17, 32],
    [64, 64],
    [65, 128],
    [512, 512],
  ] as const) {
    const [chunk] = idChunks(ids(count))
    expect(chunk).toHaveLength(rounded)
    expect(new Set(chunk?.map(String)).size).toBe(count)
  }
})

test('long lists become several chunks with all ids', () => {
  const chunks = idChunks(ids(1_300))
  expect(chunks.map(({ length }) => length)).toEqual([512, 512, 512])
  expect(new Set(chunks.flat().map(String)).size).toBe(1_300)
})

test('an empty list has no chunks', () => {
  expect(idChunks([])).toEqual([])
})

test('a write of more than 500 rows is rejected', () => {
  checkWriteRows('entities', MAX_WRITE_ROWS)
  expect(() => checkWriteRows('entities', MAX_WRITE_ROWS + 1)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringMatching(/500 rows.*got 501/) }),
  )
})
