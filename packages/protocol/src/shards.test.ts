import { LooseleafError, type ErrorCode, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import {
  idsByShard,
  isOfRemovedShard,
  isOfShardLeftOut,
  isUnreached,
  leadingShard,
  shardAt,
} from './shards.ts'

type States = readonly (readonly [name: string, state: string])[]

/** A store whose shards have these names and states; `removed` has the numbers of those that were taken out of the list. */
function storeOf(
  shards: States | undefined,
  names = ['a', 'b', 'c'],
  removed?: readonly number[],
): EngineContext {
  const layout = shards && { shards: shards.map(([name, state]) => ({ name, state })) }
  return {
    driver: {
      shards: names.map((name) => ({ name }) as Shard),
      removed: removed && new Set(removed),
    },
    catalog: {
      latest: () => ({ layout }),
      current: () => ({ placement: { shardOfId: (id: Uint8Array) => id[0]! % 2 } }),
    },
  } as unknown as EngineContext
}

const errorOf = (code: ErrorCode, shard?: string): LooseleafError =>
  new LooseleafError(code, 'No.', { shard })

test('a shard has a number from 0', () => {
  expect(shardAt(storeOf(undefined), 2).name).toBe('c')
  expect(() => shardAt(storeOf(undefined), 3)).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      message: 'There is no shard 3; the store has 3, from 0.',
    }),
  )
})

test('the first shard that was not removed leads', () => {
  expect(leadingShard(storeOf(undefined)).name).toBe('a')
  expect(leadingShard(storeOf(undefined, ['a', 'b', 'c'], [0, 1])).name).toBe('c')
})

test.each(['SHARD_UNAVAILABLE', 'DEADLINE', 'CLOSED'] as const)(
  'an error with the code %s and a shard says that the shard was not reached',
  (code) => {
    expect(isUnreached(errorOf(code, 'a'))).toBe(true)
    expect(isUnreached(errorOf(code))).toBe(false)
  },
)

test('other errors do not say that a shard was not reached', () => {
  expect(isUnreached(errorOf('SHARD_BUSY', 'a'))).toBe(false)
  expect(isUnreached(Object.assign(new Error('No.'), { code: 'DEADLINE', shard: 'a' }))).toBe(false)
})

test('an unreached shard is a removed one if every shard that had its address was removed', () => {
  const { catalog } = storeOf([
    ['a', 'removed'],
    ['b', 'removed'],
    ['b', 'active'],
    ['c', 'removed'],
    ['c', 'removed'],
  ])
  const isRemoved = (shard: string): boolean => isOfRemovedShard({ catalog }, errorOf('DEADLINE', shard))
  expect(['a', 'b', 'c', 'd'].map(isRemoved)).toEqual([true, false, true, false])
  expect(isOfRemovedShard({ catalog }, errorOf('SHARD_BUSY', 'a'))).toBe(false)
})

test('a store without a layout has no removed shard', () => {
  expect(isOfRemovedShard(storeOf(undefined), errorOf('DEADLINE', 'a'))).toBe(false)
})

test('a shard that was taken out of the list counts as removed before the catalog says so', () => {
  const context = storeOf([['d', 'removed']], ['a', 'a', 'b', 'b', 'c'], [0, 1, 2])
  const isLeftOut = (shard: string): boolean => isOfShardLeftOut(context, errorOf('DEADLINE', shard))
  expect(['a', 'b', 'c', 'd', 'e'].map(isLeftOut)).toEqual([true, false, false, true, false])
  expect(isOfShardLeftOut(context, errorOf('SHARD_BUSY', 'a'))).toBe(false)
  expect(isOfShardLeftOut(storeOf([]), errorOf('DEADLINE', 'a'))).toBe(false)
})

test('ids are grouped by the shard of their entity, each once', () => {
  const context = storeOf(undefined)
  const ids = [2, 3, 4, 2].map((n) => Buffer.alloc(16, n))
  expect([...idsByShard(context, ids)]).toEqual([
    [context.driver.shards[0], [ids[0], ids[2]]],
    [context.driver.shards[1], [ids[1]]],
  ])
})
