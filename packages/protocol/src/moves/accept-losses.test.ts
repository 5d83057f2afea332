import type { Shard } from '@looseleaf/core'
import type { CatalogEntry, LayoutMove, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { loadCatalog, type EngineContext } from '@looseleaf/index-engine/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { expect, test } from 'vitest'
import { acceptLosses } from './accept-losses.ts'

/** The part of a catalog in which the shards of these tests differ. */
type Parts = Partial<Pick<ShardCatalog, 'epoch' | 'serves' | 'indexes' | 'layout'>>

interface Losses {
  /** By shard number. */
  readonly shards: readonly Parts[]
  /** Buckets of each shard in the layout. */
  readonly buckets: readonly string[]
  readonly moves?: readonly LayoutMove[]
  /** Numbers of the shards with an entity. */
  readonly full?: readonly number[]
}

/** Accepts the losses of a store of 100 buckets, and returns its catalogs as they are then. */
async function accepted({
  shards,
  buckets,
  moves = [],
  full = [],
}: Losses): Promise<readonly ShardCatalog[]> {
  const layout = {
    revision: 9,
    scheme: 'buckets-1',
    shards: buckets.map((some, number) => ({ name: `${number}`, buckets: some })),
    moves,
  }
  const catalogs = shards.map((parts, shardNumber) =>
    catalogOf({ shardNumber, shardCount: shards.length, layout, epoch: 10, ...parts }),
  )
  let time = 1_000
  const driver = {
    shards: catalogs.map(
      (_, number) =>
        ({
          name: `${number}`,
          catalog: {
            load: async () => catalogs[number],
            async change(next: ShardCatalog, epoch: number) {
              if (catalogs[number]!.epoch !== epoch) return false
              catalogs[number] = next
              return true
            },
          },
          entities: {
            pageByAdded: async () => (full.includes(number) ? [{}] : []),
            raiseFloor: async () => ++time,
          },
          flush: async () => {},
          now: async () => ++time,
        }) as unknown as Shard,
    ),
  }
  const catalog = { reload: () => loadCatalog(driver as unknown as EngineContext['driver']), adopt() {} }
  const router = {
    fingerprint: 'buckets-1 100',
    buckets: { scheme: 'buckets-1', shards: Array.from({ length: 100 }, () => 0) },
  }
  await acceptLosses({ driver, catalog, router } as unknown as EngineContext)
  return catalogs
}

const serves = (catalogs: readonly ShardCatalog[]): readonly (ShardServes | undefined)[] =>
  catalogs.map((catalog) => catalog.serves)

/**
 * Shard 0 gave the buckets 10-19 to shard 1, and has deleted their entities. Shard 1 passed them on to shard 2, and was made anew since. Shard 2 has
 * no record of them.
 */
const PASSED_ON: Losses = {
  buckets: ['0-9,20-49', '50-74', '10-19,75-99'],
  shards: [
    {
      serves: {
        owns: '0-9,20-49',
        away: [{ move: 3, attempt: 4, buckets: '10-19', to: 1, end: 5, emptied: 6 }],
      },
    },
    {},
    { serves: { owns: '75-99' } },
  ],
}

test('the shard to which a lost shard has passed buckets on serves them if it is empty', async () => {
  const [, lost, owner] = serves(await accepted({ ...PASSED_ON, full: [0, 1] }))
  expect(lost).toBeUndefined()
  expect(owner).toMatchObject({
    owns: '10-19,75-99',
    arrived: [{ move: 3, attempt: 4, buckets: '10-19', from: 0, end: 5, afterAddedId: 0 }],
  })
})

test('no shard serves lost buckets without their entities while their shard has some', async () => {
  expect(serves(await accepted({ ...PASSED_ON, full: [2] }))).toEqual(
    PASSED_ON.shards.map((parts) => parts.serves),
  )
})

test('no shard serves lost buckets while an index is ready', async () => {
  const [ready, building] = ['ready', 'building'].map(
    (state) => ({ name: state, table: state, state, properties: [] }) as unknown as CatalogEntry,
  ) as [CatalogEntry, CatalogEntry]
  const withIndexes = (indexes: readonly CatalogEntry[]): Losses => ({
    ...PASSED_ON,
    shards: PASSED_ON.shards.map((parts) => ({ ...parts, indexes })),
  })
  expect(serves(await accepted(withIndexes([building, ready])))[2]).toEqual({ owns: '75-99' })
  expect(serves(await accepted(withIndexes([building])))[2]?.owns).toBe('10-19,75-99')
})

const MOVE: LayoutMove = { id: 3, from: 0, to: 1, buckets: '10-19', phase: 'both' }

/** The target has begun with the buckets 10-14 of an announced move, of which the source has no record. */
const UNRECORDED: Losses = {
  buckets: ['0-49', '50-99'],
  moves: [MOVE],
  shards: [
    {},
    {
      serves: {
        owns: '10-14,50-99',
        arrived: [{ move: 3, attempt: 4, buckets: '10-14', from: 0, end: 5, begin: 7, afterAddedId: 0 }],
      },
    },
  ],
}

test('an empty source gets its records of the groups with which the target of an announced move has begun', async () => {
  const [source] = serves(await accepted({ ...UNRECORDED, full: [1] }))
  expect(source).toEqual({
    owns: '0-9,15-49',
    away: [{ move: 3, attempt: 4, buckets: '10-14', to: 1, end: 5 }],
  })
})

test.each([
  ['that has entities', { ...UNRECORDED, full: [0] }],
  [
    'that lacks the announcement',
    {
      ...UNRECORDED,
      shards: [{ epoch: 9, layout: { revision: 8, shards: [] } }, ...UNRECORDED.shards.slice(1)],
    },
  ],
])('a source %s keeps its buckets', async (_, losses) => {
  expect(serves(await accepted(losses))[0]).toBeUndefined()
})

/** Neither shard has a record of a move whose rows are read at its target. */
const UNBEGUN: Losses = {
  buckets: ['0-49', '50-99'],
  moves: [{ ...MOVE, phase: 'target' }],
  shards: [{}, {}],
}

test('a move without a record at its empty shards is announced again', async () => {
  const catalogs = await accepted(UNBEGUN)
  for (const { layout } of catalogs) expect(layout).toMatchObject({ revision: 10, moves: [MOVE] })
  // By the layout the target has none of the buckets that it would have to lose.
  expect(serves(catalogs)).toEqual([undefined, undefined])
})

test.each([
  ['its source has entities', { ...UNBEGUN, full: [0] }],
  ['its target has entities', { ...UNBEGUN, full: [1] }],
])('a move whose rows are read at its target goes on while %s', async (_, losses) => {
  for (const { layout } of await accepted(losses))
    expect(layout).toMatchObject({ revision: 9, moves: losses.moves })
})

test('a move that copies lost buckets again by itself is not announced again', async () => {
  const away = [{ move: 3, attempt: 4, buckets: '10-14', to: 1, end: 5 }]
  const catalogs = await accepted({
    buckets: ['0-49', '50-99'],
    moves: [MOVE],
    shards: [{ serves: { owns: '0-9,15-49', away } }, {}],
  })
  expect(catalogs.map(({ epoch, layout }) => [epoch, layout?.revision])).toEqual([
    [10, 9],
    [10, 9],
  ])
})

test('a store without a layout has lost nothing', async () => {
  const shards = PASSED_ON.shards.map((parts) => ({ ...parts, layout: undefined }))
  expect(serves(await accepted({ ...PASSED_ON, shards }))[2]).toEqual({ owns: '75-99' })
})
