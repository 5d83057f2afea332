import type { Router } from '@looseleaf/core'
import {
  unionOfRanges,
  withoutRanges,
  type LayoutMove,
  type LayoutShard,
  type ShardServes,
} from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPlacement, type Placement } from './placement.ts'

const BUCKETS = 12
const byLastByte = (bytes: Uint8Array): number => bytes.at(-1)!
const router: Router = {
  fingerprint: 'last-byte shards=3',
  shardCount: 3,
  shardOfId: () => 0,
  shardOfKey: () => 0,
  newId: () => Buffer.alloc(16),
  buckets: {
    scheme: 'last-byte',
    ofId: byLastByte,
    ofKey: byLastByte,
    shards: Array.from({ length: BUCKETS }, () => 0),
  },
}

/** An id, and a key, of this bucket. */
const at = (bucket: number): Uint8Array => Buffer.alloc(16, bucket)

/** Places the buckets 0-3, 4-7 and 8-11 of three shards with these buckets of their own and these moves. */
function placed(
  serves: readonly (ShardServes | undefined)[],
  moves?: readonly LayoutMove[],
  buckets: readonly string[] = ['0-3', '4-7', '8-11'],
): Placement {
  const shards = buckets.map((ranges, number) => ({ name: `${number}`, buckets: ranges }))
  return placedBy(shards, serves, moves)
}

function placedBy(
  shards: readonly LayoutShard[],
  serves: readonly (ShardServes | undefined)[],
  moves?: readonly LayoutMove[],
  silent?: number,
): Placement {
  const layout = { revision: 1, scheme: 'last-byte', shards, moves }
  const shardCatalogs = [0, 1, 2].map((shardNumber) =>
    shards[shardNumber]?.state === 'removed' || shardNumber === silent
      ? undefined
      : catalogOf({ shardNumber, shardCount: 3, layout, serves: serves[shardNumber] }),
  )
  return createPlacement(router, { layout, shards: shardCatalogs }, 3)
}

/** Returns the owners of these buckets. */
const owners = (placement: Placement, ...buckets: readonly number[]): number[] =>
  buckets.map((bucket) => placement.shardOfId(at(bucket)))
const unserved = (placement: Placement): number[] =>
  Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter((bucket) => !placement.isServed(at(bucket)))
const sealed = (placement: Placement): number[] =>
  Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter((bucket) => placement.isSealed(at(bucket)))

const departure = { move: 1, attempt: 1, buckets: '2-3', to: 1, end: 9 }
const arrival = { move: 1, attempt: 1, buckets: '2-3', from: 0, afterAddedId: 0, end: 9, begin: 10 }

describe('the owner of a bucket', () => {
  test('buckets are on the shards of the layout as long as no shard has buckets of its own', () => {
    const placement = placed([])
    expect(owners(placement, 0, 3, 4, 11)).toEqual([0, 0, 1, 2])
    expect([unserved(placement), sealed(placement)]).toEqual([[], []])
  })

  test('a shard keeps a bucket that is leaving, until it is away', () => {
    const leaving = [{ move: 1, attempt: 1, buckets: '2-3', to: 1, sealed: '3' }]
    const placement = placed([
      { owns: '0-3', leaving },
      { owns: '4-7', coming: [] },
    ])
    expect(owners(placement, 2, 3)).toEqual([0, 0])
    expect([unserved(placement), sealed(placement)]).toEqual([[], [3]])
  })

  test('a bucket that is away, and has not arrived, belongs to its new shard, which does not serve it yet', () => {
    const placement = placed([{ owns: '0-1', away: [departure] }, { owns: '4-7' }])
    expect(owners(placement, 1, 2, 3, 4)).toEqual([0, 1, 1, 1])
    expect(unserved(placement)).toEqual([2, 3])
  })

  test('a bucket that is away leads to its new shard although the own buckets of that are unknown', () => {
    expect(owners(placed([{ owns: '0-1', away: [departure] }, undefined]), 2, 5)).toEqual([1, 1])
  })

  test('a bucket that has arrived belongs to its new shard', () => {
    const placement = placed([
      { owns: '0-1', away: [departure] },
      { owns: '2-7', arrived: [arrival] },
    ])
    expect(owners(placement, 1, 2, 4)).toEqual([0, 1, 1])
    expect(unserved(placement)).toEqual([])
  })

  test.each<[string, ShardServes | undefined]>([
    ['has buckets of its own', { owns: '0-3' }],
    [
      'is leaving it by the same move',
      { owns: '0-3', leaving: [{ move: 1, attempt: 1, buckets: '2-3', to: 1, sealed: '2-3' }] },
    ],
    ['has those of the layout', undefined],
  ])(
    'a bucket that has arrived belongs to its new shard, although the old catalog of the other %s',
    (_, old) => {
      const placement = placed([old, { owns: '2-7', arrived: [arrival] }])
      expect(owners(placement, 1, 2, 3)).toEqual([0, 1, 1])
      expect([unserved(placement), sealed(placement)]).toEqual([[], []])
    },
  )

  test('a bucket that its new shard has lost, and got again by the same move, has arrived again', () => {
    const arrivals = [arrival, { ...arrival, attempt: 2, begin: 20 }].map((record) => {
      const placement = placed([{ owns: '0-1' }, { owns: '2-7', arrived: [record] }])
      expect(placement.servedOn(1).get(2)).toBe(placement.arrivalOfId(at(2)))
      return placement.arrivalOfId(at(2))
    })
    expect(new Set(arrivals).size).toBe(2)
  })

  test('a bucket that came back belongs to its first shard, although the other catalog is from before', () => {
    const back = { ...arrival, move: 2, from: 1 }
    const placement = placed([
      { owns: '0-3', arrived: [back] },
      { owns: '2-7', arrived: [arrival] },
    ])
    expect(owners(placement, 2, 3)).toEqual([0, 0])
  })

  test('a bucket that was moved twice leads to its last shard, although no known catalog owns it', () => {
    const placement = placed([
      { owns: '0-1', away: [departure] },
      { owns: '4-7', away: [{ ...departure, move: 2, to: 2 }] },
      { owns: '8-11' },
    ])
    expect(owners(placement, 2, 3)).toEqual([2, 2])
    expect(unserved(placement)).toEqual([2, 3])
  })

  test('a bucket that is away leads to its new shard, although the old catalog of an earlier owner has it', () => {
    const placement = placed([
      { owns: '0-3' },
      { owns: '4-7', arrived: [], away: [{ ...departure, move: 2, to: 2 }] },
      { owns: '8-11' },
    ])
    expect(owners(placement, 2, 3)).toEqual([2, 2])
    expect(unserved(placement)).toEqual([2, 3])
  })

  test('the shards of the last move tell the owner, however old the catalogs of the others are', () => {
    const moves = fc.array(fc.tuple(fc.nat(2), fc.boolean()), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(moves, fc.array(fc.nat(), { minLength: 3, maxLength: 3 }), (targets, ages) => {
        /** The catalogs of each shard, from the first to the last. */
        const histories: ShardServes[][] = [[{ owns: '0-3' }], [{ owns: '4-7' }], [{ owns: '8-11' }]]
        const change = (shard: number, next: (last: ShardServes) => ShardServes): void =>
          void histories[shard]!.push(next(histories[shard]!.at(-1)!))
        let owner = 0
        let begun = true
        let lastSource = 0
        for (const [i, [target, begins]] of targets.entries()) {
          if (target === owner || !begun) continue
          const motion = { move: i + 1, attempt: 1, buckets: '2' }
          const [from, to] = [owner, target]
          change(from, ({ owns, away = [], arrived = [] }) => ({
            owns: withoutRanges(owns, '2'),
            away: [...away, { ...motion, to, end: 1 }],
            arrived: arrived.filter(({ buckets }) => buckets !== '2'),
          }))
          if (begins)
            change(to, ({ owns, away = [], arrived = [] }) => ({
              owns: unionOfRanges(owns, '2'),
              away,
              arrived: [...arrived, { ...motion, from, afterAddedId: 0, end: 1, begin: 2 }],
            }))
          lastSource = from
          owner = to
          begun = begins
        }
        const seen = histories.map((history, shard) =>
          shard === owner || shard === lastSource ? history.at(-1) : history[ages[shard]! % history.length],
        )
        const placement = placed(seen)
        expect([...owners(placement, 2), placement.isServed(at(2))]).toEqual([owner, begun])
      }),
    )
  })

  describe('after shard 0 gave buckets to shard 2, which gave them to shard 1 and was removed,', () => {
    const away = [{ ...departure, move: 2, to: 1, emptied: 10 }]
    const removed = { name: '2', buckets: '', state: 'removed' as const, away }
    const shards = [{ name: '0', buckets: '0-1' }, { name: '1', buckets: '2-11' }, removed]
    const source = { owns: '0-1', away: [{ ...departure, to: 2 }] }

    test('the buckets belong to shard 1, and wait for it, while its catalog is unknown', () => {
      const placement = placedBy(shards, [source], undefined, 1)
      expect(owners(placement, 1, 2, 3, 4)).toEqual([0, 1, 1, 1])
      expect(unserved(placement)).toEqual([2, 3])
    })

    test('the buckets belong to the shard of a later move', () => {
      const back = [{ name: '0', buckets: '0-3' }, { name: '1', buckets: '4-11' }, removed]
      expect(owners(placedBy(back, [undefined, { owns: '4-11' }]), 2, 3)).toEqual([0, 0])
      const arrived = [{ ...arrival, move: 3, from: 1 }]
      const placement = placedBy(back, [{ owns: '0-3', arrived }])
      expect([owners(placement, 2, 3), unserved(placement)]).toEqual([[0, 0], []])
    })

    test('shard 1 serves the buckets as soon as its own are known', () => {
      const placement = placedBy(shards, [source, { owns: '2-11', arrived: [{ ...arrival, move: 2 }] }])
      expect([owners(placement, 2, 3), unserved(placement)]).toEqual([[1, 1], []])
      expect(placement.arrivalOfId(at(2))).toBe(arrival.begin)
    })

    test.each([undefined, { owns: '2-11' }])(
      'shard 1 serves the buckets also without a record of their arrival, as one that was made anew: %j',
      (own) => {
        const placement = placedBy(shards, [source, own])
        expect([owners(placement, 2, 3), unserved(placement)]).toEqual([[1, 1], []])
      },
    )
  })

  test('a bucket that no shard owns or has given up is served by none', () => {
    const placement = placed([{ owns: '0-1' }])
    expect(owners(placement, 2)).toEqual([0])
    expect(unserved(placement)).toEqual([2, 3])
  })

  test.each<ShardServes>([
    { owns: '0-12' },
    { owns: '3-1' },
    { owns: '', away: [{ ...departure, buckets: '12' }] },
    { owns: '', arrived: [{ ...arrival, buckets: '1-' }] },
    { owns: '', leaving: [{ move: 1, attempt: 1, buckets: '1', to: 1, sealed: '99' }] },
  ])('the buckets %j of a shard are CATALOG_DAMAGED', (serves) => {
    expect(() => placed([serves])).toThrow(expect.objectContaining({ code: 'CATALOG_DAMAGED' }))
  })
})

describe('the places of index rows', () => {
  const move = { id: 1, from: 0, to: 1, buckets: '2-3' } as const
  const places = ({ rows }: Placement, bucket: number): [read: number, written: readonly number[]][] => [
    [rows.readOfId(at(bucket)), rows.writtenOfId(at(bucket))],
    [rows.readOfKey(at(bucket)), rows.writtenOfKey(at(bucket))],
  ]

  test.each([
    ['both', 0],
    ['target', 1],
    ['undoing', 0],
  ] as const)(
    'rows of a move in the phase %s are written at both shards, and read at shard %i',
    (phase, read) => {
      const placement = placed([], [{ ...move, phase }])
      expect(places(placement, 2)).toEqual([
        [read, [0, 1]],
        [read, [0, 1]],
      ])
      expect(places(placement, 1)).toEqual([
        [0, [0]],
        [0, [0]],
      ])
    },
  )

  test('rows are at their shard by the layout alone when no move is announced', () => {
    const placement = placed([], [], ['0-1', '2-7', '8-11'])
    expect(places(placement, 2)).toEqual([
      [1, [1]],
      [1, [1]],
    ])
  })

  test('rows stay where the layout has them while only entities have moved', () => {
    const placement = placed(
      [
        { owns: '0-1', away: [departure] },
        { owns: '2-7', arrived: [arrival] },
      ],
      [],
    )
    expect([placement.shardOfId(at(2)), places(placement, 2)[0]]).toEqual([1, [0, [0]]])
  })

  test('a look-up of the shards of a row allocates nothing', () => {
    const { rows } = placed([], [{ ...move, phase: 'both' }])
    expect(rows.writtenOfKey(at(2))).toBe(rows.writtenOfKey(at(3)))
    expect(rows.writtenOfKey(at(0))).toBe(rows.writtenOfKey(at(1)))
  })

  test.each<[string, Partial<LayoutMove>[], string]>([
    ['to the shard that has it', [{ to: 0 }], 'move 1 goes from shard 0 to shard 0'],
    ['to a shard that the store does not have', [{ to: 3 }], 'move 1 goes from shard 0 to shard 3'],
    ['of a bucket that does not exist', [{ buckets: '12' }], 'move 1 has the buckets "12"'],
    ['of a bucket that is in another', [{}, { id: 2, to: 2 }], 'bucket 2 is in the moves 1 and 2'],
  ])('a move %s is CATALOG_DAMAGED', (_, moves, flaw) => {
    const announced = moves.map((fields): LayoutMove => ({ ...move, phase: 'both', ...fields }))
    expect(() => placed([], announced)).toThrow(
      expect.objectContaining({ code: 'CATALOG_DAMAGED', message: expect.stringContaining(flaw) as string }),
    )
  })
})
