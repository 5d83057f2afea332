import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { batchesOf, fenced, type Copyable } from './write-copies.ts'

const MB = 1024 * 1024

function rowOf(addedId: number, bodyBytes: number, body?: Uint8Array | null): Copyable {
  return { id: Buffer.alloc(16, addedId), version: 1, updated: addedId, addedId, bodyBytes, body }
}

const placesOf = (rows: readonly Copyable[]): readonly (readonly number[])[] =>
  Array.from(batchesOf(rows), (batch) => batch.map(({ addedId }) => addedId))

test('no rows are in no batch', () => {
  expect(placesOf([])).toEqual([])
})

test('a batch has up to 500 rows', () => {
  const rows = Array.from({ length: 1_001 }, (_, i) => rowOf(i, 1))
  expect(placesOf(rows).map(({ length }) => length)).toEqual([500, 500, 1])
  expect(placesOf(rows).flat()).toEqual(rows.map(({ addedId }) => addedId))
})

test('a batch has bodies of up to 2 MiB, and a longer body is alone', () => {
  expect(placesOf([rowOf(1, MB), rowOf(2, MB), rowOf(3, 1)])).toEqual([[1, 2], [3]])
  expect(placesOf([rowOf(1, MB), rowOf(2, MB + 1), rowOf(3, MB - 1)])).toEqual([[1], [2, 3]])
  expect(placesOf([rowOf(1, 3 * MB), rowOf(2, 3 * MB), rowOf(3, 0)])).toEqual([[1], [2], [3]])
})

test('rows with their bodies, also tombstones, come before those without', () => {
  const body = Buffer.from('x')
  const rows = [rowOf(1, 1), rowOf(2, 1, body), rowOf(3, 0, null), rowOf(4, 1)]
  expect(placesOf(rows)).toEqual([
    [2, 3],
    [1, 4],
  ])
})

test('a copy without an answer is STALE_EPOCH, and other errors stay as they are', async () => {
  const lost = new LooseleafError('OUTCOME_UNKNOWN', 'The answer was lost.', { shard: 'shard 1' })
  await expect(fenced(() => Promise.reject(lost))).rejects.toMatchObject({
    code: 'STALE_EPOCH',
    message: 'The answer was lost. The copy is sent again under another epoch.',
    shard: 'shard 1',
    cause: lost,
  })
  for (const error of [
    new LooseleafError('SHARD_BUSY', 'Busy.'),
    Object.assign(new Error('A mistake.'), { unknownOutcome: true }),
  ])
    await expect(fenced(() => Promise.reject(error))).rejects.toBe(error)
  expect(await fenced(async () => 7)).toBe(7)
})
