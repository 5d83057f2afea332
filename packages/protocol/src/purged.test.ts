import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { catchUp, requireUnpurged } from './purged.ts'

const check = (updated: number, since: number): void =>
  requireUnpurged({ name: 'one' }, { purged: { updated: 7, version: 3 } }, { updated, addedId: 0, since })

test('a place that is not before the purged tombstones is kept', () => {
  for (const [updated, since] of [
    [7, 0],
    [0, 7],
    [8, 1],
  ] as const)
    expect(() => check(updated, since)).not.toThrow()
})

test('a place before purged tombstones is gone', () => {
  for (const [updated, since] of [
    [6, 6],
    [0, 0],
  ] as const)
    expect(() => check(updated, since)).toThrow(
      expect.objectContaining({
        code: 'CHANGES_GONE',
        shard: 'one',
        message: expect.stringMatching(/^one: tombstones after this place .* Begin again with 'beginning'/),
      }),
    )
})

test('a write that is tried again knows the epoch of the shard and the versions of purged tombstones', async () => {
  const calls: unknown[] = []
  const floor = async (): Promise<object> => {
    await Promise.resolve()
    return { purged: { updated: 7, version: 3 } }
  }
  const context = {
    driver: { shards: [{}, { entities: { floor } }] },
    catalog: { reloadShard: async (shard: number) => void calls.push(['catalog', shard]) },
    clock: { next: (version: number) => calls.push(['clock', version]) },
  } as unknown as EngineContext
  await Promise.all([catchUp(context, 1), catchUp(context, 1), catchUp(context, 1)])
  expect(calls).toEqual([
    ['catalog', 1],
    ['clock', 3],
    ['catalog', 1],
    ['clock', 3],
  ])
})
