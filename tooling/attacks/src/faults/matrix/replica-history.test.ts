import { parseId, type Router } from '@looseleaf/core'
import { describe, expect, test } from 'vitest'
import type { HistoryRecord, QueryRecord, SightRecord } from '../history/records.ts'
import type { QueryRequest, Content } from '../indexes.ts'
import { checkLossyHistory, type LossyFailover, type Survivor } from './replica-history.ts'

const ID = '01a1fae5-02b5-7344-af57-b8baae49bc39'
const red: Content = { group: 'north', tags: ['red'], at: '2024-03-31T01:30:00.000Z' }
const blue: Content = { group: 'south', tags: ['blue'], at: '2024-03-31T01:30:00.000Z' }

/** The entity is on shard 0 with the rows of groups; rows of tags are on shard 1. */
const router: Router = {
  fingerprint: 'test',
  shardCount: 2,
  shardOfId: () => 0,
  shardOfKey: (key) => (Buffer.from(key).toString() === 'red' ? 1 : 0),
  newId: () => parseId(ID),
}

function failover(shard: number, survivor?: Survivor): LossyFailover {
  const survivors = new Map(survivor === undefined ? [] : [[ID, survivor]])
  const at = { caughtUpAt: 10, goneAt: 20, openedAt: 30, repairedAt: 50 }
  return { ...at, shard, survivors, wasSemiSync: false, unconfirmed: 0 }
}

function put(
  number: number,
  [start, end]: readonly [number, number],
  version: number | undefined,
  more: { content?: Content; previous?: number } = {},
): HistoryRecord[] {
  const { content = red, previous } = more
  return [
    { kind: 'begin', number, id: ID, at: start, content },
    version === undefined
      ? { kind: 'end', number, at: end, outcome: 'unknown' }
      : { kind: 'end', number, at: end, outcome: 'acknowledged', version, previous },
  ]
}

function sight([start, end]: readonly [number, number], version: number, by: number): SightRecord {
  return { kind: 'sight', id: ID, start, end, version, by }
}

const ofTag: QueryRequest = { index: 'by_tag', tags: ['red'] }

function query(
  [start, end]: readonly [number, number],
  found: readonly string[],
  request: QueryRequest = ofTag,
): QueryRecord {
  return { kind: 'query', start, end, request, found }
}

interface HistoryCase {
  readonly records: readonly (HistoryRecord | readonly HistoryRecord[])[]
  readonly failover: LossyFailover
  readonly fallenBackMayMiss?: boolean
  readonly missing?: readonly string[]
}

function check({ records, failover: one, fallenBackMayMiss = false, missing = [] }: HistoryCase) {
  const options = { router, failovers: [one], fallenBackMayMiss }
  return checkLossyHistory([{ records: records.flat(), goneAt: 1_000 }], [], missing, options)
}

const first = put(1, [0, 1], 5)
const lostLater = put(2, [11, 12], 6, { content: blue })
const stands: Survivor = { version: 5, by: 1, content: red }

describe('a possible history with a failover', () => {
  test('a write that was acknowledged after the replica was cut off is lost, and counted', () => {
    const records = [first, lostLater, sight([13, 14], 6, 2), sight([31, 32], 5, 1)]
    expect(check({ records, failover: failover(0, stands) })).toMatchObject({ wrongs: [], lost: 1 })
  })

  test('a call that spans the failover may have run on either server', () => {
    const records = [first, put(2, [15, 40], 6), sight([41, 42], 6, 2)]
    expect(check({ records, failover: failover(0, stands) })).toMatchObject({ wrongs: [], lost: 0 })
  })

  test.each<[string, QueryRequest]>([
    ['row', ofTag],
    ['row in one of two indexes', { index: 'by_tag and by_group', tag: 'red', group: 'north' }],
  ])(
    'a query lacks an entity whose %s was on the shard that fell back, until the clean is over',
    (_, request) => {
      const records = [first, query([31, 32], [], request)]
      expect(check({ records, failover: failover(1) })).toMatchObject({ wrongs: [], lackedUntilRepaired: 1 })
    },
  )

  test('a query may lack an entity that fell back if there is no deleteDelayMs', () => {
    const given = { records: [first, lostLater, query([31, 32], [])], failover: failover(0, stands) }
    expect(check({ ...given, fallenBackMayMiss: true })).toMatchObject({ wrongs: [], lackedUntilRepaired: 1 })
  })
})

describe('an impossible history with a failover', () => {
  test.each<[string, RegExp, HistoryCase]>([
    [
      'a write that was acknowledged before the replica was cut off is gone',
      /though the replica had it/,
      { records: [first], failover: failover(0) },
    ],
    [
      'an undone write is seen again',
      /never wrote it/,
      { records: [first, lostLater, sight([31, 32], 6, 2)], failover: failover(0, stands) },
    ],
    [
      'an update is based on an undone write',
      /which a failover had lost/,
      {
        records: [first, lostLater, put(3, [31, 32], 7, { previous: 2 })],
        failover: failover(0, stands),
      },
    ],
    [
      'the promoted server has a state that no operation wrote',
      /that it never wrote/,
      { records: [first], failover: failover(0, { version: 6, by: 9, content: red }) },
    ],
    [
      'a write that the promoted server acknowledged is gone',
      /was acknowledged before the call began/,
      { records: [first, put(2, [31, 32], 6), sight([33, 34], 5, 1)], failover: failover(0, stands) },
    ],
    [
      'a query lacks an entity that fell back, whose row is elsewhere',
      /lacks it/,
      { records: [first, lostLater, query([31, 32], [])], failover: failover(0, stands) },
    ],
    [
      'a query lacks an entity after the clean',
      /lacks it/,
      { records: [first, query([51, 52], [])], failover: failover(1) },
    ],
  ])('%s', (_, message, given) => {
    expect(check(given).wrongs.join('\n')).toMatch(message)
  })
})

describe('a row that a watcher found missing', () => {
  const judge = (row: string, shard: number, fallenBackMayMiss = false): number =>
    check({
      records: put(1, [0, 1], 5),
      failover: failover(shard, stands),
      fallenBackMayMiss,
      missing: [row],
    }).wrongs.length

  test.each<[string, string, number, boolean, number]>([
    ['is excused on a shard that fell back', `1 by_tag 00 ${ID} of version 5`, 1, false, 0],
    ['is wrong on another shard than the one that fell back', `1 by_tag 00 ${ID} of version 5`, 0, false, 1],
    ['is excused there without deleteDelayMs', `1 by_tag 00 ${ID} of version 5`, 0, true, 0],
    ['is wrong beside its entity', `0 by_group 00 ${ID} of version 5`, 0, false, 1],
    [
      'is excused beside its entity when both were seen before they fell back',
      `0 by_group 00 ${ID} of version 5, which was replaced just now`,
      0,
      false,
      0,
    ],
  ])('%s', (_, row, shard, fallenBackMayMiss, wrongs) => {
    expect(judge(row, shard, fallenBackMayMiss)).toBe(wrongs)
  })
  test('a missing row beside its entity is excused for a write that was in flight', () => {
    const records = [first, put(2, [15, 40], 6)]
    const missing = [`0 by_group 00 ${ID} of version 6`]
    expect(check({ records, failover: failover(0, stands), missing })).toMatchObject({
      wrongs: [],
      excusedLooks: 1,
    })
  })
})
