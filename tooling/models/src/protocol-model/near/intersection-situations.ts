import { read } from './row-queries.ts'
import { byKey } from './row-world.ts'
import {
  K_FAR,
  K_FAR_LATE,
  K_NEAR,
  K_NEAR_LATE,
  TWO_FAR_ONE_NEAR,
  TWO_NEAR_ONE_FAR,
  TWO_NEAR,
  type NearSituations,
} from './situation.ts'

/** Intersections of two indexes. */
export const intersectionSituations: NearSituations = {
  'an intersection with far rows that go late': {
    indexes: [byKey, K_FAR_LATE],
    build: ({ g, writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(
          TWO_NEAR,
          g.snapshotsComeFirst
            ? [read(0, byKey, TWO_NEAR, { opens: 0 }), read(1, K_FAR_LATE, TWO_NEAR)]
            : [read(1, K_FAR_LATE, TWO_NEAR), read(0, byKey, TWO_NEAR, { opens: 0 })],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: ['snapshotsComeFirst', 'otherRowsStay'],
  },
  'an intersection with near rows that go late': {
    indexes: [byKey, K_NEAR_LATE],
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(TWO_NEAR, [read(0, byKey, TWO_NEAR, { opens: 0 }), read(0, K_NEAR_LATE, TWO_NEAR)], {
          indexes: ['I', 'K'],
        }),
      ],
    }),
    guards: [],
  },
  'an intersection of two near indexes': {
    indexes: [byKey, K_NEAR],
    build: ({ g, writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(
          TWO_NEAR,
          [
            read(0, byKey, TWO_NEAR, { opens: 0 }),
            read(0, K_NEAR, TWO_NEAR, g.oneSnapshotForAllIndexes ? {} : { closes: 0, opens: 0 }),
          ],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: ['oneSnapshotForAllIndexes'],
  },
  'an intersection with an exact index whose rows are far': {
    indexes: [byKey, K_FAR],
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(TWO_NEAR, [read(0, byKey, TWO_NEAR, { opens: 0 }), read(1, K_FAR, TWO_NEAR)], {
          indexes: ['I', 'K'],
        }),
        asks(TWO_NEAR, [read(1, K_FAR, TWO_NEAR), read(0, byKey, TWO_NEAR, { opens: 0 })], {
          indexes: ['I', 'K'],
        }),
      ],
    }),
    guards: ['everyIndexCounts', 'otherRowsStay'],
  },
  'an intersection over all shards of an entity that comes near': {
    indexes: [byKey, K_FAR_LATE],
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['n2'], ['n1']]),
        asks(
          TWO_NEAR_ONE_FAR,
          [
            read(0, byKey, TWO_NEAR_ONE_FAR, { opens: 0 }),
            read(1, byKey, TWO_NEAR_ONE_FAR),
            read(1, K_FAR_LATE, TWO_NEAR_ONE_FAR),
          ],
          { indexes: ['I', 'K'] },
        ),
        asks(
          TWO_NEAR_ONE_FAR,
          [
            read(1, byKey, TWO_NEAR_ONE_FAR),
            read(0, byKey, TWO_NEAR_ONE_FAR, { opens: 0 }),
            read(1, K_FAR_LATE, TWO_NEAR_ONE_FAR),
          ],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: ['otherRowsStay'],
  },
  'an intersection of two indexes whose rows are on one other shard': {
    isLarge: true,
    indexes: [byKey, K_FAR],
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['f2'], ['f1']]),
        writes([['n1']]),
        asks(
          TWO_FAR_ONE_NEAR,
          [
            read(0, byKey, TWO_FAR_ONE_NEAR, { opens: 0 }),
            read(1, byKey, TWO_FAR_ONE_NEAR, { opens: 1 }),
            read(1, K_FAR, TWO_FAR_ONE_NEAR),
          ],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: [],
  },
  'an intersection of one index far and exact, and one near and late': {
    isLarge: true,
    indexes: [byKey, K_NEAR_LATE],
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['f2'], ['f1']]),
        writes([['n1']]),
        asks(
          TWO_FAR_ONE_NEAR,
          [
            read(1, byKey, TWO_FAR_ONE_NEAR, { opens: 1 }),
            read(0, byKey, TWO_FAR_ONE_NEAR, { opens: 0 }),
            read(0, K_NEAR_LATE, TWO_FAR_ONE_NEAR),
          ],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: [],
  },
  'an intersection of one index far and exact, and one near and exact': {
    isLarge: true,
    indexes: [byKey, K_NEAR],
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['f2'], ['n1']]),
        writes([['n1']]),
        asks(
          TWO_FAR_ONE_NEAR,
          [
            read(1, byKey, TWO_FAR_ONE_NEAR, { opens: 1 }),
            read(0, byKey, TWO_FAR_ONE_NEAR, { opens: 0 }),
            read(0, K_NEAR, TWO_FAR_ONE_NEAR),
          ],
          { indexes: ['I', 'K'] },
        ),
        asks(
          TWO_FAR_ONE_NEAR,
          [
            read(0, byKey, TWO_FAR_ONE_NEAR, { opens: 0 }),
            read(0, K_NEAR, TWO_FAR_ONE_NEAR),
            read(1, byKey, TWO_FAR_ONE_NEAR, { opens: 1 }),
          ],
          { indexes: ['I', 'K'] },
        ),
      ],
    }),
    guards: [],
  },
}
