import type { CatalogEntry, Key } from '@looseleaf/core/internal'
import type { Placement } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import type { PlacedKey } from './index-rows.ts'
import { isLocal, localRows, splitRows } from './local-rows.ts'

const entryOf = (name: string, shardOn: string): CatalogEntry => ({
  name,
  properties: [{ name: 'owner', type: 'uuid', many: false }],
  shardOn,
  onMisfit: 'refuse',
  generation: 1,
  table: `index_${name}`,
  state: 'ready',
})
const NEAR = entryOf('near', 'id')
const OWNED = entryOf('owned', 'owner')

const idOf = (bucket: number): Uint8Array => Buffer.alloc(16, bucket)
const ID = idOf(1)
const rowOf = (bucket: number, entry = OWNED): PlacedKey => ({ entry, key: [idOf(bucket)] })

/** Even buckets are on shard 0, odd ones on shard 1, and bucket 9 is moving from shard 1 to shard 0. */
const placement = {
  rows: {
    shards: [0, 1],
    writtenOfId: ([bucket]: Uint8Array) => (bucket === 9 ? [1, 0] : [bucket! % 2]),
  },
  buckets: { ofId: ([bucket]: Uint8Array) => bucket },
} as unknown as Placement

test('a row is local on the shard of its entity, in the bucket of its entity', () => {
  const local = (row: PlacedKey, id = ID, shard = 1): boolean => isLocal(row, placement, id, shard)
  expect(local(rowOf(1))).toBe(true)
  expect(local(rowOf(2, NEAR))).toBe(true)
  expect(local(rowOf(3))).toBe(false)
  expect(local(rowOf(2))).toBe(false)
  expect(local(rowOf(1), ID, 0)).toBe(false)
  expect(local(rowOf(9), idOf(9))).toBe(false)
})

test('rows are split in their order', () => {
  const rows = [rowOf(1), rowOf(2), rowOf(4, NEAR), rowOf(3)]
  expect(splitRows(placement, rows, ID, 1)).toEqual({ local: [rows[0], rows[2]], far: [rows[1], rows[3]] })
  expect(splitRows(placement, [], ID, 1)).toEqual({ local: [], far: [] })
})

test('local rows go to the commit by table, with its version', () => {
  const included = Buffer.from('x')
  const entity = { id: ID, version: 7 }
  const written = (key: Key, bytes?: Uint8Array): object => ({
    key,
    entityId: ID,
    version: 7,
    included: bytes,
  })
  const rows = [rowOf(1), rowOf(2, NEAR), { ...rowOf(3), included }]
  const [first, second, third] = rows.map(({ key }) => key) as [Key, Key, Key]
  expect(localRows(rows.slice(1, 2), rows, rows.slice(2), entity)).toMatchObject({
    claims: [{ spec: { table: 'index_near' }, rows: [written(second)] }],
    upsert: [
      { spec: { table: 'index_owned' }, rows: [written(first), written(third, included)] },
      { spec: { table: 'index_near' }, rows: [written(second)] },
    ],
    remove: [{ spec: { table: 'index_owned' }, rows: [{ key: third }] }],
  })
  expect(localRows([], [], rows.slice(0, 1), entity)).toMatchObject({ claims: undefined, upsert: undefined })
  const one = rows.slice(0, 1)
  expect(localRows(one, [], [], entity)?.claims).toHaveLength(1)
  expect(localRows([], one, [], entity)?.upsert).toHaveLength(1)
  expect(localRows([], [], one, entity)?.remove).toHaveLength(1)
  expect(localRows([], [], [], entity)).toBeUndefined()
})
