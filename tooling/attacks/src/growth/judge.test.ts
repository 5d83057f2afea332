import { expect, test } from 'vitest'
import { gatherStates } from './entity-states.ts'
import { judge, type JudgeOptions } from './judge.ts'
import { judgeMoves } from './judge-moves.ts'
import { IN_NAMES, nameOf, stateOf } from './model.ts'
import type { AnswerRecord, GrowthRecord } from './records.ts'

const NUMBER = 1
const noOutages: JudgeOptions = { outages: [], filledFrom: 0, movedFrom: 0 }

/** A write from `at` to `at + 10`. */
function write(
  number: number,
  state: number,
  at: number,
  outcome: AnswerRecord['outcome'] = 'acknowledged',
): GrowthRecord[] {
  return [
    { kind: 'write', number, state, at },
    { kind: 'answer', number, state, at: at + 10, outcome },
  ]
}

function sight(number: number, state: number | null, from: number, to = from + 10): GrowthRecord {
  return { kind: 'sight', call: 'get', number, state, from, to }
}

function wrongsOf(histories: readonly (readonly GrowthRecord[])[], options = noOutages): readonly string[] {
  return judge(gatherStates(histories), histories, options).wrongs
}

/** Returns a state of the entity that has this name, after `after`. */
function stateNamed(number: number, name: string, after: number): number {
  for (let state = after + 1; state < 1_000; state++) if (stateOf(number, state)?.name === name) return state
  throw new Error(`No state of ${number} has ${name}.`)
}

test('a read may give the state before and after a write in flight, and nothing before the first write', () => {
  const writes = [...write(NUMBER, 0, 100), ...write(NUMBER, 1, 200)]
  for (const read of [
    sight(NUMBER, null, 0),
    sight(NUMBER, null, 95),
    sight(NUMBER, 0, 105),
    sight(NUMBER, 0, 205),
    sight(NUMBER, 1, 205),
    sight(NUMBER, 1, 300),
  ])
    expect(wrongsOf([writes, [read]])).toEqual([])
})

test('a read of a replaced state, of a state before its write, and of nothing after the first write is wrong', () => {
  const writes = [...write(NUMBER, 0, 100), ...write(NUMBER, 1, 200)]
  for (const read of [
    sight(NUMBER, 0, 211),
    sight(NUMBER, 1, 150),
    sight(NUMBER, null, 111),
    sight(2, 0, 300),
  ])
    expect(wrongsOf([writes, [read]])).toHaveLength(1)
})

test('a write without an answer may be seen until a later one is acknowledged, and a failed one may not', () => {
  const dead: GrowthRecord[] = [
    ...write(NUMBER, 0, 100),
    { kind: 'write', number: NUMBER, state: 1, at: 200 },
  ]
  const later = write(NUMBER, 2, 500)
  expect(
    wrongsOf([dead, later, [sight(NUMBER, 0, 400), sight(NUMBER, 1, 450), sight(NUMBER, 0, 460)]]),
  ).toEqual([])
  expect(wrongsOf([dead, later, [sight(NUMBER, 1, 511)]])).toHaveLength(1)
  const failed = [...write(NUMBER, 0, 100), ...write(NUMBER, 1, 200, 'failed')]
  expect(wrongsOf([failed, [sight(NUMBER, 1, 205)]])).toHaveLength(1)
})

test('a deleted entity is not there, and comes back with a later state', () => {
  const all = [0, 6, 7].flatMap((state, i) => write(5, state, 100 * i))
  expect(wrongsOf([all, [sight(5, null, 150), sight(5, 7, 300)]])).toEqual([])
  expect(wrongsOf([all, [sight(5, 0, 150)]])).toHaveLength(1)
  expect(wrongsOf([all, [sight(5, null, 300)]])).toHaveLength(1)
})

test('a query that lacks a matching entity, finds an old state, or finds a stranger is wrong', () => {
  const writes = [...write(0, 0, 0), ...write(1, 0, 0), ...write(1, 1, 100)]
  const query = (found: readonly (readonly [number, number])[]): GrowthRecord => ({
    kind: 'query',
    request: { index: 'by_group', base: 0 },
    from: 200,
    to: 210,
    found,
    paged: false,
    complete: true,
  })
  const right = [
    query([
      [0, 0],
      [1, 1],
    ]),
  ]
  expect(judge(gatherStates([writes]), [writes, right], noOutages)).toMatchObject({ expected: 2, wrongs: [] })
  expect(wrongsOf([writes, [query([[1, 1]])]])).toEqual(['by_group 0  lacks 0, whose states 0 all match'])
  expect(
    wrongsOf([
      writes,
      [
        query([
          [0, 0],
          [1, 0],
        ]),
      ],
    ]),
  ).toHaveLength(1)
  expect(
    wrongsOf([
      writes,
      [
        query([
          [0, 0],
          [1, 1],
          [99, 0],
        ]),
      ],
    ]),
  ).toHaveLength(1)
})

test('two entities with one name are wrong, and so is a refusal without another holder', () => {
  const name = nameOf(0, IN_NAMES)
  const [one, two] = [stateNamed(1, name, 0), stateNamed(2, name, 0)]
  const first = [...write(1, 0, 0), ...write(1, one, 100)]
  expect(wrongsOf([first, [...write(2, 0, 0), ...write(2, two, 200)]])).toEqual([
    `${name} was held by 1 in state ${one} and by 2 in state ${two}`,
  ])
  expect(wrongsOf([first, [...write(2, 0, 0), ...write(2, two, 200, 'refused')]])).toEqual([])
  expect(wrongsOf([write(1, 0, 0), [...write(2, 0, 0), ...write(2, two, 200, 'refused')]])).toHaveLength(1)
})

test('a follower may skip states, and an older version, a state that no write made and a missing last state are wrong', () => {
  const writes = [...write(NUMBER, 0, 0), ...write(NUMBER, 1, 100), ...write(NUMBER, 2, 200, 'failed')]
  const change = (state: number, version: number): GrowthRecord => ({
    kind: 'change',
    number: NUMBER,
    state,
    version,
    at: 300,
  })
  const followed = (...changes: GrowthRecord[]): GrowthRecord[] => [
    { kind: 'beginning', gone: false, at: 0 },
    ...changes,
    { kind: 'ended', at: 400 },
  ]
  expect(wrongsOf([writes, followed(change(1, 20), change(1, 20))])).toEqual([])
  expect(wrongsOf([writes, followed(change(1, 20), change(0, 10))])).toHaveLength(1)
  expect(wrongsOf([writes, followed(change(2, 30), change(1, 40))])).toHaveLength(1)
  expect(wrongsOf([writes, followed(change(0, 10))])).toHaveLength(1)
  expect(wrongsOf([[...writes, ...write(5, 0, 0)], followed(change(1, 20))])).toHaveLength(1)
  expect(wrongsOf([writes, followed()])).toHaveLength(1)
})

test('a call may fail while a server is down, with a retryable error or an unknown outcome, and not otherwise', () => {
  const outages = [{ server: 0, from: 1_000, to: 2_000 }]
  const error = (from: number, retryable: boolean, code = 'SHARD_UNAVAILABLE'): GrowthRecord => ({
    kind: 'error',
    call: 'get',
    from,
    to: from + 10,
    code,
    message: 'Down.',
    retryable,
  })
  const judged = (record: GrowthRecord): readonly string[] => wrongsOf([[record]], { ...noOutages, outages })
  expect(judged(error(1_500, true))).toEqual([])
  expect(judged(error(1_500, false, 'OUTCOME_UNKNOWN'))).toEqual([])
  expect(judged(error(1_500, false, 'STATEMENT_FAILED'))).toHaveLength(1)
  expect(judged(error(500, true))).toHaveLength(1)
  expect(judged(error(60_000_000, true))).toHaveLength(1)
})

test('calls are timed from the moment at which all entities were there, apart before and during the moves', () => {
  const histories = [[...write(NUMBER, 0, 100), ...write(NUMBER, 1, 200), ...write(NUMBER, 2, 300)]]
  const { times, wrongs } = judge(gatherStates(histories), histories, {
    outages: [],
    filledFrom: 150,
    movedFrom: 250,
  })
  expect(wrongs).toEqual([])
  expect([times.before.calls, times.during.calls]).toEqual([1, 1])
})

test('the seals of all movers count together, and each move by its last state', () => {
  const seals = [5, 90, 7].map((ms): GrowthRecord => ({ kind: 'seal', ms }))
  const moved = (move: number, state: string): GrowthRecord => ({ kind: 'moved', move, state, at: 1 })
  const verdict = judgeMoves([
    [...seals.slice(0, 2), moved(1, 'done')],
    [seals[2]!, moved(1, 'done'), moved(2, 'undone')],
  ])
  expect(verdict).toMatchObject({ done: 1, undone: 1, groups: 3, sealP50: 7, sealP99: 90, sealWorst: 90 })
})
