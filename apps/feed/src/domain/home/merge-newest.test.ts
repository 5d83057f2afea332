import { expect, test } from 'vitest'
import { createDice } from '../../day/script/dice.ts'
import { mergeNewest } from './merge-newest.ts'

test('a merged list is the beginning of all rows in order, for any number and length of lists', () => {
  const { below } = createDice(7)
  for (let run = 0; run < 200; run++) {
    let id = 0
    const lists = Array.from({ length: below(8) }, () =>
      Array.from({ length: below(10) }, () => ({
        arrived: new Date(below(20)),
        entry_id: `${1_000 + id++}`,
      })).toSorted((a, b) => Number(b.arrived) - Number(a.arrived) || (a.entry_id > b.entry_id ? -1 : 1)),
    )
    const all = lists
      .flat()
      .toSorted((a, b) => Number(b.arrived) - Number(a.arrived) || (a.entry_id > b.entry_id ? -1 : 1))
    const limit = below(30)
    expect(mergeNewest(lists, limit)).toEqual(all.slice(0, limit))
  }
})
