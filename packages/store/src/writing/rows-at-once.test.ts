import type { CatalogEntry, ExactStep, Key, ShardCatalog } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { entriesOf, type PlacedCatalog, type Placement } from '@looseleaf/index-engine/internal'
import fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { describe, expect, test } from 'vitest'
import type { RowChange } from './row-change.ts'
import { lostRowsOf, splitLostRows, type LostRows } from './rows-at-once.ts'

// The entity is on shard 0. A row with the key n is written on the shards of this list; two of them while a move is announced.
const SHARDS: readonly (readonly number[])[] = [[0], [0], [0], [1], [1], [0, 1]]
const KEYS = [0, 1, 2, 3, 4, 5]
const id = Buffer.alloc(16)

const placement: Pick<Placement, 'rows'> = {
  rows: {
    shards: [0, 1],
    readOfId: () => 0,
    readOfKey: (key) => SHARDS[numberOf(key)]![0]!,
    writtenOfId: () => [0],
    writtenOfKey: (key) => SHARDS[numberOf(key)]!,
  },
}

/** Reads the bytes by which a key of the type integer is placed. */
function numberOf(key: Uint8Array): number {
  return Number(Buffer.from(key).readBigInt64BE())
}

function entry(name: string, shardOn: 'n' | 'id' = 'n'): CatalogEntry {
  const [data] = entriesOf(defineIndex(name, { properties: { n: 'integer[]' }, shardOn }))
  return { ...data!, generation: 1, table: `index_${name}`, state: 'ready' }
}

/** The keys of the entity in each index before or after a write. */
type State = readonly (readonly number[])[]

const keyOf = (n: number): Key => [BigInt(n)]

function split(
  entries: readonly CatalogEntry[],
  steps: ReadonlyMap<string, ExactStep>,
  before: State,
  after: State,
): LostRows {
  const lost = entries.flatMap((each, i) =>
    before[i]!.filter((n) => !after[i]!.includes(n)).map((n) => ({
      row: { entry: each, key: keyOf(n) },
      isIndexed: after[i]!.length > 0,
    })),
  )
  const rows: RowChange = {
    claimed: [],
    gained: [],
    deletedNow: lost.filter(({ isIndexed }) => !isIndexed).map(({ row }) => row),
    deletedLater: lost.filter(({ isIndexed }) => isIndexed).map(({ row }) => row),
    mayReturn: [],
    keysAfter: [],
  }
  const keysAfter = () => entries.map((each, i) => [each, after[i]!.map(keyOf)] as const)
  return splitLostRows({ id, shard: 0, steps, placement, rows, mayBePending: false, keysAfter })
}

const step: fc.Arbitrary<ExactStep | undefined> = fc.constantFrom(
  undefined,
  'counted' as const,
  'protected' as const,
  'on' as const,
  'on' as const,
)
const keySet = fc.subarray(KEYS)
const state = fc.tuple(keySet, keySet, keySet)
const ENTRIES = [entry('by_i'), entry('by_k'), entry('by_own', 'id')]

/** Whether a row is written on the shard of the entity alone. */
const isLocal = (index: number, n: number): boolean => index === 2 || String(SHARDS[n]) === '0'

test('a lost row goes at once exactly if it is local, its index is exact, and the entity has no row there or local rows alone', () => {
  fc.assert(
    fc.property(fc.tuple(step, step, step), state, state, (chosen, before, after) => {
      const steps = new Map(
        chosen.flatMap((each, i) => (each === undefined ? [] : [[ENTRIES[i]!.table, each] as const])),
      )
      const { atOnce, deletedNow, deletedLater } = split(ENTRIES, steps, before, after)
      const areLocal = ENTRIES.every(
        (_, i) => chosen[i] === undefined || after[i]!.every((n) => isLocal(i, n)),
      )
      const expected = ENTRIES.flatMap(({ table }, i) =>
        before[i]!.filter(
          (n) =>
            !after[i]!.includes(n) &&
            chosen[i] === 'on' &&
            isLocal(i, n) &&
            (after[i]!.length === 0 || areLocal),
        ).map((n) => `${table} ${n}`),
      )
      const namesOf = (rows: LostRows['atOnce']): readonly string[] =>
        rows.map(({ entry: { table }, key }) => `${table} ${key.join()}`).toSorted()
      expect(namesOf(atOnce)).toEqual(expected.toSorted())
      const lost = ENTRIES.flatMap(({ table }, i) =>
        before[i]!.filter((n) => !after[i]!.includes(n)).map((n) => `${table} ${n}`),
      )
      expect(namesOf([...atOnce, ...deletedNow, ...deletedLater])).toEqual(lost.toSorted())
    }),
    { numRuns: runsOf(2_000) },
  )
})

test('a row of a building index that a failover may bring back does not go at once', () => {
  const building: CatalogEntry = { ...entry('by_i'), state: 'building' }
  const row = { entry: building, key: keyOf(0) }
  const rows: RowChange = {
    claimed: [],
    gained: [],
    deletedNow: [row],
    deletedLater: [],
    mayReturn: [row],
    keysAfter: [],
  }
  const steps = new Map([[building.table, 'on' as const]])
  const write = { id, shard: 0, steps, placement, rows, mayBePending: false, keysAfter: () => [] }
  expect(splitLostRows(write)).toEqual({ atOnce: [], deletedNow: [row], deletedLater: [] })
  // A row of another index may return.
  const other = { entry: ENTRIES[1]!, key: keyOf(0) }
  expect(splitLostRows({ ...write, rows: { ...rows, mayReturn: [other] } }).atOnce).toEqual([row])
})

describe('the lost rows of a write by its catalog', () => {
  const [by, another] = ENTRIES as [CatalogEntry, CatalogEntry]
  const exact: CatalogEntry = { ...by, exact: 'on' }
  const rowOf = (of: CatalogEntry, n: number) => ({ entry: of, key: keyOf(n) })

  /** Splits the loss of the key 0 by an entity that has these keys in two exact indexes afterwards. */
  function lost(
    after: readonly (readonly number[])[],
    own: Partial<ShardCatalog> | null = {},
    gained: RowChange['gained'] = [],
  ): LostRows {
    const entries = [exact, { ...another, exact: 'on' as const }]
    const shards = [own === null ? undefined : { indexes: entries, ...own }]
    const catalog = { indexes: entries, shards, placement } as unknown as PlacedCatalog
    const deleted = [rowOf(exact, 0)]
    const isWhole = after[0]!.length === 0
    return lostRowsOf(catalog, 0, id, {
      claimed: [],
      gained,
      deletedNow: isWhole ? deleted : [],
      deletedLater: isWhole ? [] : deleted,
      mayReturn: [],
      keysAfter: after.map((keys) => keys.map(keyOf)),
    })
  }

  test('a row goes at once if the entity has no other row in its index, or local rows alone', () => {
    expect(lost([[], [3]]).atOnce).toEqual([rowOf(exact, 0)])
    expect(lost([[1], [2]]).atOnce).toEqual([rowOf(exact, 0)])
    expect(lost([[1], [3]]).atOnce).toEqual([])
    expect(lost([[1, 3], [1]]).atOnce).toEqual([])
  })

  test('a row stays if the shard has not made its index exact, or has no catalog', () => {
    for (const own of [{ indexes: [by] }, null])
      expect(lost([[], []], own)).toEqual({ atOnce: [], deletedNow: [rowOf(exact, 0)], deletedLater: [] })
  })

  test('a row stays in a store that may defer if the entity keeps an earlier row', () => {
    const mayDefer = { mayDefer: true }
    expect(lost([[1], [2]], mayDefer).atOnce).toEqual([])
    expect(lost([[1], [2]], mayDefer, [rowOf(exact, 1)]).atOnce).toEqual([rowOf(exact, 0)])
    // A gained row of another index is none of this one.
    expect(lost([[1], [2]], mayDefer, [rowOf(another, 1)]).atOnce).toEqual([])
  })
})

test('in a store that may defer, a lost row goes at once if the entity keeps no earlier row in its index', () => {
  const [by] = ENTRIES
  const rowOf = (n: number) => ({ entry: by!, key: keyOf(n) })
  const atOnceOf = (gained: readonly number[], after: readonly number[]): LostRows['atOnce'] =>
    splitLostRows({
      id,
      shard: 0,
      steps: new Map([[by!.table, 'on' as const]]),
      placement,
      rows: {
        claimed: [],
        gained: gained.map(rowOf),
        deletedNow: [],
        deletedLater: [rowOf(0)],
        mayReturn: [],
        keysAfter: [],
      },
      mayBePending: true,
      keysAfter: () => [
        [by!, after.map(keyOf)],
        [ENTRIES[1]!, [keyOf(1)]],
      ],
    }).atOnce
  expect(atOnceOf([1, 2], [1, 2])).toEqual([rowOf(0)])
  expect(atOnceOf([1], [1, 2])).toEqual([])
})

describe('a query beside an entity that moves', () => {
  /** Rows of one index and key: the times of writing, from half a step before the commit, and of deletion. */
  interface Span {
    readonly index: number
    readonly n: number
    readonly from: number
    to: number
  }

  /** Runs commits from one state to the next, at the times 1, 2 and so on. Rows that do not go at once stay. */
  function spansOf(states: readonly State[], exact: readonly boolean[]): readonly Span[] {
    const steps = new Map(
      ENTRIES.flatMap(({ table }, i) => (exact[i] ? [[table, 'on' as ExactStep] as const] : [])),
    )
    const spans: Span[] = []
    for (const [time, after] of states.entries()) {
      const before = states[time - 1] ?? [[], [], []]
      for (const [index, keys] of after.entries())
        for (const n of keys)
          if (!before[index]!.includes(n)) spans.push({ index, n, from: time - 0.5, to: Infinity })
      if (time === 0) continue
      for (const { entry: lost, key } of split(ENTRIES, steps, before, after).atOnce) {
        const index = ENTRIES.indexOf(lost)
        for (const span of spans)
          if (span.index === index && span.n === Number(key[0]) && span.to === Infinity) span.to = time
      }
    }
    return spans
  }

  const shardOf = (index: number, n: number): number => (index === 2 ? 0 : SHARDS[n]![0]!)

  /** The moments at which a query reads: one for all exact indexes of a shard, and any later one for each other part. */
  const moments = fc.record({
    snapshots: fc.tuple(fc.nat(9), fc.nat(9)),
    late: fc.array(fc.nat(9), { minLength: 6, maxLength: 6 }),
  })
  const program = fc.record({
    states: fc.array(state, { minLength: 2, maxLength: 5 }),
    exact: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
    asked: fc.subarray(KEYS, { minLength: 1 }),
    moments,
  })

  function found(
    spans: readonly Span[],
    exact: readonly boolean[],
    { snapshots, late }: { snapshots: readonly number[]; late: readonly number[] },
  ): ReadonlySet<string> {
    const scale = (moment: number): number => moment / 2 + 0.25
    const latest = Math.max(...snapshots)
    const seen = spans.filter(({ index, n, from, to }) => {
      const shard = shardOf(index, n)
      const moment = exact[index] ? snapshots[shard]! : Math.max(latest, late[index * 2 + shard]!)
      return from <= scale(moment) && scale(moment) < to
    })
    return new Set(seen.map(({ index, n }) => `${index} ${n}`))
  }

  test('a query of several shards finds an entity that matches all the time', () => {
    fc.assert(
      fc.property(program, fc.nat(2), ({ states, exact, asked, moments: read }, index) => {
        fc.pre(states.every((each) => each[index]!.some((n) => asked.includes(n))))
        const seen = found(spansOf(states, exact), exact, read)
        expect(asked.some((n) => seen.has(`${index} ${n}`))).toBe(true)
      }),
      { numRuns: runsOf(5_000) },
    )
  })

  test('an intersection of two indexes finds an entity that matches all the time', () => {
    // Both indexes have the same keys, in places of their own.
    const both = program.map((each) => ({
      ...each,
      states: each.states.map(([keys]): State => [keys, keys, keys]),
    }))
    fc.assert(
      fc.property(
        both,
        fc.constantFrom([0, 1], [0, 2], [1, 2]),
        ({ states, exact, asked, moments: read }, indexes) => {
          fc.pre(states.every((each) => each[0]!.some((n) => asked.includes(n))))
          const seen = found(spansOf(states, exact), exact, read)
          expect(asked.some((n) => indexes.every((index) => seen.has(`${index} ${n}`)))).toBe(true)
        },
      ),
      { numRuns: runsOf(5_000) },
    )
  })
})
