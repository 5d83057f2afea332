import type { Codec } from '@looseleaf/core'
import type { BoundedRow, EntityRow } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { longestBody, wholeRows } from './whole-rows.ts'

const MiB = 1024 * 1024

/** A codec whose bodies have the same size stored and decoded. */
const plainCodec: Codec = { name: 'plain', encode: () => Buffer.from('{}'), decode: () => ({}) }

const contextOf = (codec: Codec): Parameters<typeof wholeRows>[1] => ({
  codec,
  bodies: { decode: codec.decode, load: () => undefined, written: () => {} },
})

const row = (n: number, bodyBytes: number, body?: Uint8Array | null): BoundedRow => ({
  id: Buffer.alloc(16, n),
  version: n,
  updated: n,
  bodyBytes,
  body,
})

/** A table of these rows. `reads` has the first byte of each id of each read. */
function tableOf(rows: readonly EntityRow[]) {
  const reads: number[][] = []
  const read = async (ids: readonly Uint8Array[]): Promise<(EntityRow | undefined)[]> => {
    reads.push(ids.map((id) => id[0] ?? 0))
    return ids.map((id) => rows.find((each) => Buffer.compare(each.id, id) === 0))
  }
  return { reads, read }
}

test('bodies that were left out are read for each run in their current state, and deleted entities are left out', async () => {
  const now = { id: Buffer.alloc(16, 2), version: 20, updated: 20, body: Buffer.from('now') }
  const table = tableOf([now])
  const given = [row(1, 1, Buffer.from('1')), row(2, 3), row(3, 3), row(4, 0, null)]
  const runs = await Array.fromAsync(
    wholeRows({ name: 'a', entities: table }, contextOf(plainCodec), given, {}),
  )
  expect(runs.map((run) => run.map(({ version, body }) => [version, body?.toString()]))).toEqual([
    [
      [1, '1'],
      [20, 'now'],
      [4, undefined],
    ],
  ])
  expect(table.reads).toEqual([[2, 3]])
})

test('a run has as many bodies as fit into 8 MiB, or one larger body', async () => {
  const sizes = [5, 3, 1, 7, 9, 9, 2]
  const rows = sizes.map((size, i) => ({ ...row(i + 1, size * MiB), body: Buffer.from('read') }))
  const table = tableOf(rows)
  const given = rows.map(({ body: _, ...others }): BoundedRow => ({ ...others, body: undefined }))
  const runs = await Array.fromAsync(
    wholeRows({ name: 'a', entities: table }, contextOf(plainCodec), given, {}),
  )
  expect(table.reads).toEqual([[1, 2], [3, 4], [5], [6], [7]])
  expect(runs.flat().map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('bodies count with their decoded size, also those that were left out', async () => {
  const sizes = [5, 3, 1, 7, 9, 2]
  const codec: Codec = { ...plainCodec, decodedBytes: (body) => body[0]! * MiB }
  const rows = sizes.map((size, i) => ({ ...row(i + 1, 1), body: Buffer.of(size) }))
  const table = tableOf(rows)
  const given = rows.map((each, i): BoundedRow => (i % 2 === 0 ? each : { ...each, body: undefined }))
  const runs = await Array.fromAsync(
    wholeRows({ name: 'a', entities: table }, contextOf(codec), [...given, row(7, 0, null)], {}),
  )
  expect(runs.map((run) => run.map(({ version }) => version))).toEqual([[1, 2], [3, 4], [5], [6, 7]])
  expect(table.reads).toEqual([[2, 4, 6]])
})

test('wholeRows reads nothing if no body was left out', async () => {
  const table = tableOf([])
  expect(
    await Array.fromAsync(
      wholeRows({ name: 'a', entities: table }, contextOf(plainCodec), [row(1, 1, Buffer.from('1'))], {}),
    ),
  ).toHaveLength(1)
  expect(
    await Array.fromAsync(wholeRows({ name: 'a', entities: table }, contextOf(plainCodec), [], {})),
  ).toEqual([])
  expect(table.reads).toEqual([])
})

test('the longest bodies of all rows of a statement fit into 8 MiB together', () => {
  for (const rows of [1, 3, 500]) {
    expect(rows * longestBody(rows)).toBeLessThanOrEqual(8 * MiB)
    expect(rows * (longestBody(rows) + 1)).toBeGreaterThan(8 * MiB)
  }
})
