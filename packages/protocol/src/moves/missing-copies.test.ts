import { formatId } from '@looseleaf/core'
import type { AwayBuckets } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { hasCopy, withoutCopies } from './missing-copies.ts'

const idOf = (n: number): Uint8Array => Buffer.alloc(16, n)

/** A shard with a copy of entity 7 alone, at this time. The entities that it is asked for are added to `asked`. */
function contextWith(updated: number, asked: unknown[] = []): EngineContext {
  const entities = {
    async checksums(ids: readonly Uint8Array[]) {
      asked.push(...ids.map(([n]) => n))
      return ids.map(([n]) => (n === 7 ? { updated } : undefined))
    },
  }
  return { driver: { shards: [{ entities }] } } as unknown as EngineContext
}

const copyOf = (n: number) => ({ id: formatId(idOf(n)), updated: 50 })

test.each([
  [7, 49, false],
  [7, 50, true],
  [7, 51, true],
  [8, 50, false],
])('a shard has the copy of entity %i from 50 if it has one from %i: %s', async (n, updated, isThere) => {
  expect(await hasCopy(contextWith(updated), 0, copyOf(n), {})).toBe(isThere)
})

test('a shard has all copies of a group without any, and is not asked', async () => {
  const asked: unknown[] = []
  expect(await hasCopy(contextWith(50, asked), 0, undefined, {})).toBe(true)
  expect(asked).toEqual([])
})

test('a target lacks the groups of a move from the first one whose last copy it lacks, and those whose source was emptied', async () => {
  const asked: unknown[] = []
  const group = (move: number, buckets: string, rest: Partial<AwayBuckets> = {}): AwayBuckets => ({
    move,
    attempt: 1,
    buckets,
    to: 0,
    end: 60,
    ...rest,
  })
  const records = [
    group(1, '0', { last: copyOf(7) }),
    group(1, '1', { last: copyOf(8) }),
    group(2, '2', { last: copyOf(7) }),
    group(1, '3'),
    group(3, '4', { last: copyOf(9), emptied: 70 }),
    group(3, '5'),
    group(2, '6'),
  ]
  const lacking = await withoutCopies(contextWith(50, asked), 0, records, {})
  expect(lacking.map(({ buckets }) => buckets)).toEqual(['1', '3', '4', '5'])
  expect(asked).toEqual([7, 8, 7])
})
