import { describe, expect, it } from 'vitest'
import { emptyTally } from '../pass/tally.ts'
import { freshPart, phases, type Part } from './part.ts'
import { rowsLeft, rowsLeftOnAll, timeLeftMs } from './time-left.ts'

const partOf = (part: Partial<Omit<Part, 'tally'>>, tally: Partial<Part['tally']> = {}): Part => ({
  ...freshPart('run'),
  ...part,
  tally: { ...emptyTally(), ...tally },
})

describe('rows left on a shard', () => {
  it.each<[string, Part, number | undefined]>([
    ['the rows left are unknown before the entities are counted', partOf({}), undefined],
    ['the estimate starts with one row per entity', partOf({ total: 10 }), 10 + 10 + 10 + 10],
    [
      'the estimate uses the rows per entity written so far',
      partOf({ seen: 5, total: 10 }, { added: 20 }),
      5 + 40 + (10 + 40),
    ],
    [
      'the estimate uses the rows per entity looked up so far',
      partOf({ seen: 5, total: 10 }, { rows: 20 }),
      5 + 20 + 40 + (10 + 40),
    ],
    [
      'in the phase `dangling`, rows and check remain',
      partOf({ phase: 'dangling', seen: 30, total: 40 }, { entities: 10, rows: 70 }),
      10 + (10 + 40),
    ],
    [
      'in the phase `dangling`, the rows written count until the table is counted',
      partOf({ phase: 'dangling' }, { entities: 10, added: 40 }),
      40 + (10 + 40),
    ],
    [
      'in the phase `check`, the rest of the check remains',
      partOf({ phase: 'check', seen: 7, total: 10 }, { entities: 10 }),
      3,
    ],
    [
      'in the phase `check`, the rows of its entities remain, after a repair that has read each of them twice',
      partOf({ phase: 'check', seen: 6, total: 10 }, { entities: 10, rows: 40 }),
      4 + 8,
    ],
    [
      'in the phase `check`, the rows of its entities remain, after a filling',
      partOf({ phase: 'check', seen: 6, total: 10 }, { entities: 10, rows: 20, added: 20 }),
      4 + 8,
    ],
    ['before the check has counted, all entities remain', partOf({ phase: 'check' }, { entities: 10 }), 10],
    ['in the phase `done`, no rows remain', partOf({ phase: 'done' }, { entities: 10 }), 0],
    ['the rows left are never negative', partOf({ phase: 'check', seen: 12, total: 10 }), 0],
  ])('%s', (_, part, rows) => {
    expect(rowsLeft([part], phases)).toBe(rows)
  })

  it('entities count once for all indexes, rows for each index', () => {
    const a = partOf({ seen: 5, total: 10 }, { added: 5 })
    const b = partOf({ seen: 4, total: 10 }, { added: 8 })
    expect(rowsLeft([a, b], phases)).toBe(6 + (10 + 20) + 10 + (10 + 20))
    expect(rowsLeft([a, b], ['entities', 'dangling'])).toBe(6 + (10 + 20))
  })

  it('the rows left are unknown while those of one index are', () => {
    expect(rowsLeft([partOf({ total: 10 }), partOf({})], phases)).toBeUndefined()
    expect(rowsLeft([], phases)).toBeUndefined()
  })
})

describe('rows left on all shards', () => {
  it('unknown shards count as the average of the known ones', () => {
    expect(rowsLeftOnAll([10, undefined, 20, undefined])).toBe(60)
    expect(rowsLeftOnAll([undefined])).toBeUndefined()
  })

  it('the time left is the rows divided by the rate', () => {
    expect(timeLeftMs(500, 100)).toBe(5_000)
    expect(timeLeftMs(0, 100)).toBe(0)
    expect(timeLeftMs(0, 0)).toBeUndefined()
    expect(timeLeftMs(500, 0)).toBeUndefined()
    expect(timeLeftMs(undefined, 100)).toBeUndefined()
  })
})
