import { describe, expect, test } from 'vitest'
import type { QueryRequest, Content } from '../indexes.ts'
import { checkHistory } from './check-history.ts'
import type { EndRecord, HistoryRecord, ProcessHistory, QueryRecord, SightRecord } from './records.ts'

const ID = 'entity'
const red: Content = { group: 'north', tags: ['red'], at: '2024-03-31T01:30:00.000Z' }
const blue: Content = { group: 'south', tags: ['blue'], at: '2024-03-31T01:30:00.000Z' }
const late: Content = { group: null, tags: ['red'], at: '2024-03-31T22:15:00.000Z' }
const lateBlue: Content = { ...blue, at: late.at }

/** A write from `start` to `end`, put or delete. */
function write(
  number: number,
  [start, end]: readonly [number, number],
  answer: Omit<Partial<EndRecord>, 'kind' | 'number' | 'at'> & { content?: Content | null } = {},
): HistoryRecord[] {
  const { content = red, ...rest } = answer
  return [
    { kind: 'begin', number, id: ID, at: start, content },
    { kind: 'end', number, at: end, outcome: 'acknowledged', ...rest },
  ]
}

function sight([start, end]: readonly [number, number], seen: Partial<SightRecord> = {}): SightRecord {
  return { kind: 'sight', id: ID, start, end, ...seen }
}

function query(
  [start, end]: readonly [number, number],
  found: readonly string[],
  request: QueryRequest = { index: 'by_tag', tags: ['red'] },
): QueryRecord {
  return { kind: 'query', start, end, request, found }
}

/** A query over a range of groups. */
const over = (...between: [from: string, to: string]): QueryRequest => ({ index: 'by_group', between })

function check(...records: (HistoryRecord | readonly HistoryRecord[])[]): readonly string[] {
  return checkHistory([{ records: records.flat(), goneAt: 1_000 }]).wrongs
}

describe('a possible history', () => {
  test.each<[string, (HistoryRecord | readonly HistoryRecord[])[]]>([
    ['nothing', []],
    ['a read before anything was written', [sight([0, 1])]],
    ['write, read', [write(1, [0, 1], { version: 5 }), sight([2, 3], { version: 5, by: 1, content: red })]],
    [
      'a list that tells no version, of a state whose version was raised since',
      [
        write(1, [0, 1], { version: 5 }),
        sight([2, 3], { version: 7, by: 1 }),
        sight([4, 5], { by: 1, content: red }),
      ],
    ],
    [
      'a read that overlaps the write, either way',
      [write(1, [0, 10], { version: 5 }), sight([1, 2]), sight([3, 4], { version: 5, by: 1 })],
    ],
    [
      'a state with a version that was raised by a fence',
      [write(1, [0, 1], { version: 5 }), sight([2, 3], { version: 7, by: 1 })],
    ],
    [
      'an unknown write that took place',
      [write(1, [0, 1], { outcome: 'unknown' }), sight([2, 3]), sight([4, 5], { version: 5, by: 1 })],
    ],
    ['an unknown write that did not', [write(1, [0, 1], { outcome: 'unknown' }), sight([2, 3])]],
    [
      'a delete and a read of nothing',
      [write(1, [0, 1], { version: 5 }), write(2, [2, 3], { content: null }), sight([4, 5])],
    ],
    [
      'a delete of unknown outcome that takes place late',
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 3], { content: null, outcome: 'unknown' }),
        sight([4, 5], { version: 5, by: 1 }),
        sight([6, 7]),
      ],
    ],
    [
      'an update of what was there',
      [write(1, [0, 1], { version: 5 }), write(2, [2, 3], { version: 6, previous: 1 })],
    ],
    [
      'a query during a change',
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6, content: blue }),
        query([3, 4], [ID]),
        query([5, 6], []),
      ],
    ],
    [
      'a query over groups during a move to another one',
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6, content: blue }),
        query([3, 4], [], over('east', 'north')),
        query([10, 11], [], over('east', 'north')),
        query([3, 4], [ID], over('north', 'south')),
      ],
    ],
    [
      'a query for no group during a move out of one',
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6, content: late }),
        query([3, 4], [], { index: 'by_day', days: ['2024-03-31'], groups: [null] }),
        query([10, 11], [ID], { index: 'by_day', days: ['2024-03-31'], groups: [null] }),
      ],
    ],
    [
      'a process that died with a write under way',
      [{ kind: 'begin', number: 1, id: ID, at: 0, content: red }, sight([2, 3], { version: 5, by: 1 })],
    ],
  ])('%s', (_, records) => {
    expect(check(...records)).toEqual([])
  })
})

describe('an impossible history', () => {
  test.each<[string, RegExp, (HistoryRecord | readonly HistoryRecord[])[]]>([
    [
      'an acknowledged write is gone',
      /was there all the time/,
      [write(1, [0, 1], { version: 5 }), sight([2, 3])],
    ],
    [
      'an acknowledged write was undone',
      /7 was acknowledged before the call began/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 3], { version: 7 }),
        sight([4, 5], { version: 5, by: 1 }),
      ],
    ],
    [
      'a read goes back behind another read',
      /7 was seen before the call began/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 99], { version: 7 }),
        sight([4, 5], { version: 7, by: 2 }),
        sight([6, 7], { version: 5, by: 1 }),
      ],
    ],
    [
      'a list gives what was replaced before the call began',
      /had been replaced before the call began/,
      [write(1, [0, 1], { version: 5 }), write(2, [2, 3], { version: 7 }), sight([4, 5], { by: 1 })],
    ],
    [
      'a list returns the content of another write',
      /another content/,
      [write(1, [0, 1], { version: 5 }), sight([2, 3], { by: 1, content: blue })],
    ],
    [
      'a write that was refused took place',
      /reported as failed/,
      [write(1, [0, 1], { outcome: 'failed' }), sight([2, 3], { version: 5, by: 1 })],
    ],
    ['a state that no operation wrote', /never wrote it/, [sight([2, 3], { version: 5, by: 1 })]],
    [
      'a state with the content of another',
      /another content/,
      [write(1, [0, 1], { version: 5 }), sight([2, 3], { version: 5, by: 1, content: blue })],
    ],
    [
      'a state before it was written',
      /only called afterwards/,
      [write(1, [4, 5], { version: 5 }), sight([2, 3], { version: 5, by: 1 })],
    ],
    [
      'two writes under one version',
      /share version 5/,
      [write(1, [0, 1], { version: 5 }), write(2, [0, 1], { version: 5 })],
    ],
    [
      'versions against the order of time',
      /was acknowledged before the call began/,
      [write(1, [0, 1], { version: 5 }), write(2, [2, 3], { version: 4 })],
    ],
    [
      'a lost update',
      /lost update/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6 }),
        write(3, [2, 9], { version: 7, previous: 1 }),
      ],
    ],
    [
      'a conditional write past another',
      /came between/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6 }),
        write(3, [2, 9], { version: 7, base: 5 }),
      ],
    ],
    [
      'a state that comes back after another',
      /came back/,
      [
        write(1, [0, 9], { outcome: 'unknown' }),
        write(2, [0, 9], { version: 6 }),
        sight([0, 9], { version: 5, by: 1 }),
        sight([0, 9], { version: 7, by: 1 }),
      ],
    ],
    [
      'a deleted entity that comes back',
      /had been replaced/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 3], { content: null }),
        sight([4, 5], { version: 5, by: 1 }),
      ],
    ],
    [
      'an entity that vanishes and comes back by itself',
      /seen deleted|was there all the time/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { content: null }),
        sight([3, 4]),
        sight([5, 6], { version: 5, by: 1 }),
      ],
    ],
    [
      'a query that lacks an entity that matched all the time',
      /lacks it/,
      [write(1, [0, 1], { version: 5 }), query([2, 3], [])],
    ],
    [
      'a query that lacks an entity that matched before and after a write',
      /lacks it/,
      [write(1, [0, 1], { version: 5 }), write(2, [2, 9], { version: 6 }), query([3, 4], [])],
    ],
    [
      'a query by a list that lacks an entity that only moved between its values',
      /by_tag red or blue lacks it/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6, content: blue }),
        query([3, 4], [], { index: 'by_tag', tags: ['red', 'blue'] }),
      ],
    ],
    [
      'a query by day that lacks an entity that only got another time of that day',
      /by_day 2024-03-31 south lacks it/,
      [
        write(1, [0, 1], { version: 5, content: blue }),
        write(2, [2, 9], { version: 6, content: lateBlue }),
        query([3, 4], [], { index: 'by_day', days: ['2024-03-31'], groups: ['south'] }),
      ],
    ],
    [
      'a query for no group that lacks an entity without a group',
      /by_day 2024-03-31 none lacks it/,
      [
        write(1, [0, 1], { version: 5, content: late }),
        query([3, 4], [], { index: 'by_day', days: ['2024-03-31'], groups: [null] }),
      ],
    ],
    [
      'a query over groups that lacks an entity that only moved between them',
      /by_group from north to south lacks it/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 9], { version: 6, content: blue }),
        query([3, 4], [], over('north', 'south')),
      ],
    ],
  ])('%s', (_, message, records) => {
    expect(check(...records).join('\n')).toMatch(message)
  })
})

describe('a state that was seen before a server crash', () => {
  const unflushed: [string, RegExp, (HistoryRecord | readonly HistoryRecord[])[]][] = [
    [
      'of a put whose writer was told nothing',
      /was there all the time/,
      [write(1, [0, 9], { outcome: 'unknown' }), sight([1, 2], { version: 5, by: 1 }), sight([3, 4])],
    ],
    [
      'of an attempt that was made again',
      /acknowledged with version 7/,
      [write(1, [0, 9], { version: 7 }), sight([1, 2], { version: 5, by: 1 })],
    ],
    [
      'of a delete whose writer was told nothing',
      /seen deleted before the call began/,
      [
        write(1, [0, 1], { version: 5 }),
        write(2, [2, 99], { outcome: 'unknown', content: null }),
        sight([3, 4]),
        sight([5, 6], { version: 5, by: 1 }),
      ],
    ],
  ]
  const crashed = (records: (HistoryRecord | readonly HistoryRecord[])[]): readonly string[] =>
    checkHistory([{ records: records.flat(), goneAt: 1_000 }], [], { serversCrash: true }).wrongs

  test.each(unflushed)('a seen state may be undone: %s', (_, otherwise, records) => {
    expect(check(...records).join()).toMatch(otherwise)
    expect(crashed(records)).toEqual([])
  })

  test('a seen state may survive without an acknowledgement, and an update may be based on it', () => {
    const kept = [
      write(1, [0, 1], { version: 5 }),
      write(2, [2, 3], { outcome: 'unknown' }),
      sight([4, 5], { version: 7, by: 2 }),
      write(3, [6, 7], { version: 9, previous: 2 }),
    ]
    expect(crashed(kept)).toEqual([])
    expect(crashed([...kept, write(4, [8, 9], { version: 11, previous: 1 })]).join()).toMatch(/lost update/)
  })

  test('an acknowledged state survives a crash', () => {
    expect(crashed([write(1, [0, 1], { version: 5 }), sight([2, 3])])).not.toEqual([])
    const seen = sight([4, 5], { version: 5, by: 1 })
    expect(crashed([write(1, [0, 1], { version: 5 }), write(2, [2, 3], { version: 7 }), seen])).not.toEqual(
      [],
    )
  })
})

describe('a query that lacks an entity that matched all the time', () => {
  const lacking = (changes: Partial<QueryRecord>): HistoryRecord[] => [
    ...write(1, [0, 1], { version: 5 }),
    { ...query([2, 3], []), ...changes },
  ]
  const processes = (records: HistoryRecord[]): ProcessHistory[] => [{ records, goneAt: 1_000 }]

  test('a query that misses an entity is excused and counted if it says that it is incomplete', () => {
    const { wrongs, counts } = checkHistory(processes(lacking({ complete: false })))
    expect(wrongs).toEqual([])
    expect(counts).toMatchObject({ incompleteQueries: 1, expectedInQueries: 0 })
    expect(checkHistory(processes(lacking({}))).wrongs).toHaveLength(1)
  })

  test('a query that misses an entity is counted if rows may come after their entity', () => {
    const { wrongs, counts } = checkHistory(processes(lacking({})), [], { queriesMayLack: true })
    expect(wrongs).toEqual([])
    expect(counts).toMatchObject({ lackedInQueries: 1, expectedInQueries: 1 })
  })
})

test('the time that a process was stopped does not count as part of its calls', () => {
  const { counts } = checkHistory([
    {
      records: [
        ...write(1, [0, 9_000_000], { version: 5 }),
        { kind: 'stopped', start: 1_000_000, end: 8_000_000 },
        // A second write, which was not in flight then.
        ...write(2, [9_000_000, 9_500_000], { version: 6 }),
      ],
      goneAt: 1e9,
    },
  ])
  expect(counts.longestMs).toBe(2_000)
})
