import { LooseleafError } from '@looseleaf/core'
import type { AwayBuckets, LayoutMove, ShardServes } from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { discardAll } from './empty.ts'
import type { MoveWork } from './move-work.ts'

const MOVE: LayoutMove = { id: 5, from: 0, to: 1, buckets: '0-9', phase: 'target' }
const moveOf = (id: number, from: number, to: number, buckets: string): LayoutMove => ({
  ...MOVE,
  id,
  from,
  to,
  buckets,
})
const awayOf = (move: number, buckets: string, emptied?: number): AwayBuckets => ({
  move,
  attempt: 1,
  buckets,
  to: 1,
  end: 10,
  emptied,
})

interface Deleting {
  readonly result: Awaited<ReturnType<typeof discardAll>>
  /** Buckets of the deleted entities, and the looks at the shard and its pages of entities. */
  readonly calls: readonly (number | 'look' | 'page')[]
}

/** Deletes on a shard with an entity in each of the buckets 0 to 11. `onDiscard` is called before each delete, with the number of deletes before it. */
async function deleted(
  serves: ShardServes,
  {
    awaits = [],
    owned = '',
    moves = [],
    onDiscard = () => {},
  }: {
    readonly awaits?: readonly string[]
    readonly owned?: string
    readonly moves?: readonly LayoutMove[]
    readonly onDiscard?: (before: number) => void
  } = {},
): Promise<Deleting> {
  const calls: (number | 'look' | 'page')[] = []
  let deletes = 0
  const shard = {
    entities: {
      async pageByAdded() {
        calls.push('page')
        return Array.from({ length: 12 }, (_, i) => ({ id: Buffer.alloc(16, i), addedId: i + 1 }))
      },
      async discard(ids: readonly Uint8Array[]) {
        onDiscard(deletes++)
        calls.push(...ids.map(([bucket]) => bucket!))
        return ids.length
      },
    },
    pending: { page: async () => [] },
  }
  const buckets = { scheme: 'buckets-1', ofId: ([bucket]: Uint8Array) => bucket }
  const work = {
    context: {
      driver: { shards: [shard] },
      router: { fingerprint: 'buckets-1 12', buckets },
      catalog: { current: () => ({ indexes: [] }) },
    },
    move: MOVE,
    throttle: {
      maxPage: 100,
      send: (_: number, __: unknown, statement: () => Promise<unknown>) => statement(),
      take: async () => {},
    },
  } as unknown as MoveWork
  const layout = { revision: 9, shards: [{ name: '0', buckets: owned }], moves }
  const result = await discardAll(work, 0, async () => {
    calls.push('look')
    return { own: { catalog: catalogOf({ layout }), serves }, awaits }
  })
  return { result, calls }
}

test('a shard deletes the buckets of a move for which it has no use', async () => {
  const serves: ShardServes = {
    owns: '1',
    away: [awayOf(7, '3'), awayOf(8, '4', 20), awayOf(2, '0'), awayOf(5, '0-9')],
    coming: [
      { move: 6, attempt: 1, buckets: '5', from: 1, afterAddedId: 0 },
      { move: 4, attempt: 1, buckets: '6', from: 1, afterAddedId: 0 },
    ],
  }
  const moves = [moveOf(9, 1, 0, '7'), moveOf(10, 0, 1, '8')]
  const { result, calls } = await deleted(serves, { owned: '2', moves })
  expect(calls).toEqual(['look', 'page', 0, 4, 6, 8, 9])
  expect(result).toEqual({ entities: 5, rows: 0, awaits: [] })
})

test('a shard that has a use for all buckets of a move, or waits for consumers, deletes nothing', async () => {
  const nothing = { entities: 0, rows: 0 }
  expect(await deleted({ owns: '0-9' })).toEqual({ result: { ...nothing, awaits: [] }, calls: ['look'] })
  expect(await deleted({ owns: '' }, { awaits: ['mails'] })).toEqual({
    result: { ...nothing, awaits: ['mails'] },
    calls: ['look'],
  })
})

test('deletes go on under another epoch, and end with any other error', async () => {
  const failing = (error: LooseleafError) => ({
    onDiscard(before: number) {
      if (before === 0) throw error
    },
  })
  const stale = new LooseleafError('STALE_EPOCH', 'The epoch is another.')
  const { result, calls } = await deleted({ owns: '2-9' }, failing(stale))
  expect(calls).toEqual(['look', 'page', 'look', 'page', 0, 1])
  expect(result.entities).toBe(2)
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
  await expect(deleted({ owns: '2-9' }, failing(down))).rejects.toBe(down)
})
