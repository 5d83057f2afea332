import { expect, test } from 'vitest'
import { openDataSet } from './data-set.ts'
import { indexesOf, layoutNames } from './indexes.ts'

test.each(layoutNames)('every entry of the data set "%s" has a key for every index', (layout) => {
  const data = openDataSet({ layout, entries: 10, users: 2, bag: undefined }, 0)
  const indexes = indexesOf(layout)
  for (const entry of [data.entry(3)[1], data.newEntry(), data.replacement(false)[1]])
    for (const { keysOf, columns } of indexes) {
      const keys = keysOf(entry)
      expect(keys.length).toBeGreaterThan(0)
      for (const key of keys) expect(key).toHaveLength(columns.length)
    }
  if (!Number.isNaN(Number(layout))) expect(indexes).toHaveLength(Number(layout))
})
