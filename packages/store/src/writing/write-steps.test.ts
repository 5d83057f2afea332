import { LooseleafError, parseId } from '@looseleaf/core'
import type { Placement } from '@looseleaf/index-engine/internal'
import type { PlacedKey, RowFailure } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { createRowSteps, unlessTaken } from './write-steps.ts'
import { NONE, type RowChange } from './row-change.ts'

const id = parseId('01890a5d-ac96-774b-bcce-b302099a8057')
const placement = {} as Placement
const [gained, kept] = [[{ key: [1n] }], [{ key: [2n] }]] as unknown as [PlacedKey[], PlacedKey[]]
const rows = (change: Partial<RowChange>): RowChange => ({
  claimed: [],
  gained: [],
  deletedNow: [],
  deletedLater: [],
  mayReturn: [],
  keysAfter: [],
  ...change,
})

/** Returns the steps, and the upserts that they send, with their stamps. */
function steps(writeOrder: 'index-first' | 'entity-first', failing?: PlacedKey[]) {
  const sent: [readonly PlacedKey[], number][] = []
  const failure: RowFailure = { table: 'index_a', error: new LooseleafError('SHARD_BUSY', 'On purpose.') }
  const upsert = async (_: unknown, some: readonly PlacedKey[], _id: unknown, version: number) => {
    sent.push([some, version])
    return some === failing ? [failure] : []
  }
  return { sent, failure, ...createRowSteps({ upsert }, { writeOrder }) }
}

test('gained rows are written before the commit with the new version, and rows that may return with the old one', async () => {
  const { early, sent } = steps('index-first')
  expect(await early(placement, rows({ gained, mayReturn: kept }), id, 8, 7, undefined)).toEqual([])
  expect(sent).toEqual([
    [gained, 8],
    [kept, 7],
  ])
})

test.each([
  ['gained rows', gained],
  ['rows that may return', kept],
])('the failures of %s before the commit are returned', async (_, failing) => {
  const { early, failure } = steps('index-first', failing)
  expect(await early(placement, rows({ gained, mayReturn: kept }), id, 8, 7, undefined)).toEqual([failure])
})

test('a write without rows sends none, and needs no promise', () => {
  const { early, sent } = steps('index-first')
  expect(early(placement, rows({}), id, 8, 7, undefined)).toBe(NONE)
  expect(sent).toEqual([])
})

test('an entity-first write sends its gained rows after the commit alone, and tells whether all were written', async () => {
  const first = steps('entity-first')
  expect(await first.early(placement, rows({ gained }), id, 8, 7, undefined)).toEqual([])
  expect(first.sent).toEqual([])
  expect(await first.late(placement, rows({ gained }), id, 8, undefined)).toBe(true)
  expect(first.sent).toEqual([[gained, 8]])
  const failing = steps('entity-first', gained)
  expect(await failing.late(placement, rows({ gained }), id, 8, undefined)).toBe(false)
})

test('only a claim of another entity leads to another commit', async () => {
  let others = 0
  const otherwise = async () => (others++, 'superseded' as const)
  const failed = async (code: 'DUPLICATE_KEY' | 'SHARD_BUSY'): Promise<never> => {
    throw new LooseleafError(code, 'On purpose.')
  }
  expect(await unlessTaken(Promise.resolve('won'), otherwise)).toBe('won')
  await expect(unlessTaken(failed('SHARD_BUSY'), otherwise)).rejects.toMatchObject({ code: 'SHARD_BUSY' })
  expect(others).toBe(0)
  expect(await unlessTaken(failed('DUPLICATE_KEY'), otherwise)).toBe('superseded')
})
