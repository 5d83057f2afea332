import { describe, expect, it } from 'vitest'
import { emptyTally } from '../pass/tally.ts'
import { freshPart, phases, type Part } from './part.ts'
import { rowsLeft, rowsLeftOnAll, timeLeftMs } from './time-left.ts'

const partOf = (part: Partial<Omit<Part, 'tally'>>, tally: Partial<Part['tally']> = {}): Part => ({
  ...freshPart('run'),
  ...part,
  tally: { ...emptyTally(), ...tally },
})

describe('what is left on a shard', () => {
  it.each<[string, Part, number | undefined]>([
    ['is not known before it was counted', partOf({}), undefined],
    ['counts a row for each entity at first', partOf({ total: 10 }), 10 + 10 + 10],
    ['counts rows as so far', partOf({ seen: 5, total: 10 }, { added: 20 }), 5 + 40 + 10],
    ['counts rows that were looked up', partOf({ seen: 5, total: 10 }, { rows: 20 }), 5 + 40 + 10],
    [
      'is the rows and the check then',
      partOf({ phase: 'dangling', seen: 30, total: 40 }, { entities: 10, rows: 70 }),
      10 + 10,
    ],
    [
      'knows of rows what was written while their table is not counted',
      partOf({ phase: 'dangling' }, { entities: 10, added: 40 }),
      40 + 10,
    ],
    ['is the check in the end', partOf({ phase: 'check', seen: 7, total: 10 }, { entities: 10 }), 3],
    ['is all entities where the check has not begun', partOf({ phase: 'check' }, { entities: 10 }), 10],
    ['is nothing when it is done', partOf({ phase: 'done' }, { entities: 10 }), 0],
    ['is never less than nothing', partOf({ phase: 'check', seen: 12, total: 10 }), 0],
  ])('%s', (_, part, left) => {
    expect(rowsLeft([part], phases)).toBe(left)
  })

  it('has entities once for all indexes, and the rows of each', () => {
    const a = partOf({ seen: 5, total: 10 }, { added: 5 })
    const b = partOf({ seen: 4, total: 10 }, { added: 8 })
    expect(rowsLeft([a, b], phases)).toBe(6 + (10 + 20) + 10)
    expect(rowsLeft([a, b], ['entities', 'dangling'])).toBe(6 + (10 + 20))
  })

  it('is not known while it is not of one of them', () => {
    expect(rowsLeft([partOf({ total: 10 }), partOf({})], phases)).toBeUndefined()
    expect(rowsLeft([], phases)).toBeUndefined()
  })
})

describe('what is left on all shards', () => {
  it('takes those that nothing is known of for as large as the others', () => {
    expect(rowsLeftOnAll([10, undefined, 20, undefined])).toBe(60)
    expect(rowsLeftOnAll([undefined])).toBeUndefined()
  })

  it('is time at a rate', () => {
    expect(timeLeftMs(500, 100)).toBe(5_000)
    expect(timeLeftMs(0, 100)).toBe(0)
    expect(timeLeftMs(0, 0)).toBeUndefined()
    expect(timeLeftMs(500, 0)).toBeUndefined()
    expect(timeLeftMs(undefined, 100)).toBeUndefined()
  })
})
