import { parseId, type Codec } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { entriesOf, type Catalog } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { diffAll, keysOf } from './row-change.ts'

const id = parseId('01890a5d-ac96-774b-bcce-b302099a8057')
const codec = {} as Codec

function entry(property: string): CatalogEntry {
  const definition = defineIndex(`by_${property}`, {
    properties: { [property]: 'integer[]' as const },
    shardOn: 'id',
  })
  return { ...entriesOf(definition)[0]!, generation: 1, table: `index_by_${property}`, state: 'ready' }
}

const [byA, byB] = [entry('a'), entry('b')]
const catalog = { indexes: [byA, byB], policies: { deleteDelayMs: 0 } } as unknown as Catalog

test('a change has the keys of each index after the write, those that stay and those that are gained', () => {
  const before = { a: [1, 2], b: [5] }
  const after = { a: [2, 3], b: [5] }
  const change = diffAll(catalog, codec, id, keysOf(catalog, before), Buffer.from('body'), after)
  expect(change).toEqual({
    claimed: [],
    gained: [{ entry: byA, key: [3n], included: undefined }],
    deletedNow: [],
    deletedLater: [{ entry: byA, key: [1n] }],
    mayReturn: [],
    keysAfter: [[[2n], [3n]], [[5n]]],
  })
})

test('a deleted entity has no keys afterwards, and loses all that it had', () => {
  const keys = keysOf(catalog, { a: [1], b: [5] })
  const change = diffAll(catalog, codec, id, keys, Buffer.from('body'), null)
  expect(change).toMatchObject({
    gained: [],
    deletedNow: [
      { entry: byA, key: [1n] },
      { entry: byB, key: [5n] },
    ],
    deletedLater: [],
    keysAfter: [[], []],
  })
})
