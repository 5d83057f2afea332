import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { deleteDelayMs, learnPolicies, mayBeLost } from './policies.ts'

const idOf = (n: number): Uint8Array => Buffer.alloc(16, n)

/** A store of three shards, on which ids are by their number; the shards have these epochs. */
function storeOf(epochs: readonly (number | undefined)[], delayMs = 0) {
  const calls: string[] = []
  const shards = epochs.map((epoch, number) => ({
    name: `shard ${number}`,
    catalog: {
      async load(options: unknown) {
        expect(options).toEqual({ signal })
        calls.push(`load ${number}`)
        return epoch === undefined ? undefined : catalogOf({ epoch })
      },
    },
  }))
  const catalog = {
    current: () => ({
      epochs: [5, 5, 6],
      placement: { shardOfId: (id: Uint8Array) => id[0]! % 3 },
      policies: { deleteDelayMs: delayMs },
    }),
    async reload(options: unknown) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(options).toEqual({ signal })
      calls.push('reload')
    },
  }
  return { context: { driver: { shards }, catalog } as unknown as EngineContext, calls }
}

const { signal } = new AbortController()

test.each<[string, readonly (number | undefined)[], string[]]>([
  ['all have the epochs of the catalog', [5, 9, 6], ['load 0', 'load 2']],
  ['one has a later epoch', [5, 5, 7], ['load 0', 'load 2', 'reload']],
  ['one has no catalog', [undefined, 5, 6], ['load 0', 'load 2', 'reload']],
])(
  'the catalogs are read again unless the shards of the entities are as known: %s',
  async (_, epochs, expected) => {
    const { context, calls } = storeOf(epochs)
    await learnPolicies(context, [idOf(0), idOf(2), idOf(3)], signal)
    expect(calls).toEqual(expected)
  },
)

test('no entities need no statement', async () => {
  const { context, calls } = storeOf([1, 1, 1])
  await learnPolicies(context, [], signal)
  expect(calls).toEqual([])
})

test('a commit may be lost for as long as the delay, counted from before it was read', () => {
  const { context } = storeOf([], 100)
  expect(deleteDelayMs(context)).toBe(100)
  const lost = (readAt: number): boolean => mayBeLost(context, { updated: 7_000_000 }, readAt)
  expect([7_000, 7_099, 7_100, 6_000].map(lost)).toEqual([true, true, false, true])
  expect(mayBeLost(storeOf([], 0).context, { updated: 7_000_000 }, 6_000)).toBe(false)
})
