import type { CatalogEntry } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { entriesOf, type Catalog } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { superfluousRows } from './superseded-attempts.ts'

function entry(property: string): CatalogEntry {
  const definition = defineIndex(`by_${property}`, {
    properties: { [property]: 'integer' as const },
    shardOn: 'id',
  })
  return { ...entriesOf(definition)[0]!, generation: 1, table: `index_by_${property}`, state: 'ready' }
}

const [byA, byB, dropped] = [entry('a'), entry('b'), entry('gone')] as const
const catalog = { indexes: [byA, byB] } as unknown as Catalog
const row = (of: CatalogEntry, n: number) => ({ entry: of, key: [BigInt(n)] })

test('rows of superseded attempts are superfluous unless the committed bag has them in the same index', () => {
  const superseded = [row(byA, 1), row(byB, 1), row(byB, 2), row(byA, 2), row(byB, 2)]
  expect(superfluousRows(catalog, superseded, { a: 1, b: 3 })).toEqual([
    row(byA, 2),
    row(byB, 1),
    row(byB, 2),
  ])
})

test('all rows of superseded attempts are superfluous after a delete', () => {
  expect(superfluousRows(catalog, [row(byB, 1)], null)).toEqual([row(byB, 1)])
  expect(superfluousRows(catalog, [], null)).toEqual([])
})

test('rows of an index that was dropped are nobody’s', () => {
  expect(superfluousRows(catalog, [row(dropped, 1)], { gone: 2 })).toEqual([])
})
