import type { LeavingBuckets, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { groupsOf, unseal } from './hand-over.ts'
import type { MoveWork } from './move-work.ts'

test('buckets are cut into groups of one size in their order', () => {
  expect(groupsOf([1, 2, 3, 7, 8], 2)).toEqual(['1-2', '3,7', '8'])
  expect(groupsOf([1, 2], 2)).toEqual(['1-2'])
  expect(groupsOf([], 2)).toEqual([])
})

const LEAVING: LeavingBuckets = { move: 1, attempt: 4, buckets: '0-9', to: 1, sealed: '0-3' }
const OTHER: LeavingBuckets = { move: 2, attempt: 5, buckets: '20-29', to: 1, sealed: '20' }

/** Takes the seal of attempt 4 at move 1 away, and returns the records that the source has then; undefined if it was not changed. */
async function unsealed(leaving: readonly LeavingBuckets[] | undefined): Promise<ShardServes['leaving']> {
  let changed: ShardCatalog | undefined
  const source = {
    catalog: {
      load: async () => catalogOf({ serves: { owns: '0-99', leaving } }),
      change: async (next: ShardCatalog) => {
        changed = next
        return true
      },
    },
    now: async () => 100,
  }
  const work = { context: { driver: { shards: [source] } }, move: { id: 1, from: 0 } } as unknown as MoveWork
  await unseal(work, { attempt: 4, buckets: '0-9', lost: '' })
  return changed?.serves?.leaving
}

test('the seal of an attempt is taken away, and those of other moves stay', async () => {
  expect(await unsealed([LEAVING, OTHER])).toEqual([OTHER, { ...LEAVING, sealed: undefined }])
})

test.each([
  ['the seal of a later attempt', [{ ...LEAVING, attempt: 6 }]],
  ['an attempt without a seal', [{ ...LEAVING, sealed: undefined }]],
  ['another move', [OTHER]],
  ['no move at all', undefined],
])('a source with the records of %s is not changed', async (_, leaving) => {
  expect(await unsealed(leaving)).toBeUndefined()
})
