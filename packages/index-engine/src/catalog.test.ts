import type { CatalogEntry, IndexState, ShardCatalog } from '@looseleaf/core'
import { describe, expect, it } from 'vitest'
import { mergeCatalogs } from './catalog.ts'
import { defineIndex } from './define-index.ts'

const definition = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })

function entry(state: IndexState, generation = 1): CatalogEntry {
  return { ...definition, generation, table: `index_by_link_${generation}`, state }
}

function shardCatalog(fields: Partial<ShardCatalog>): ShardCatalog {
  const layout = { shardNumber: 0, shardCount: 2, router: 'any' }
  return { epoch: 1, storeId: 'store', ...layout, indexes: [], mayDefer: undefined, ...fields }
}

/** The state of an index that the shards have in these states; undefined for one that has not heard of it. */
function merged(...states: (IndexState | undefined)[]): IndexState | undefined {
  const shards = states.map((state) => shardCatalog({ indexes: state === undefined ? [] : [entry(state)] }))
  return mergeCatalogs(shards).indexes[0]?.state
}

describe('the state of an index that the shards disagree on', () => {
  it.each([
    ['ready', ['ready', 'ready']],
    ['building', ['building', 'building']],
    ['retiring', ['retiring', 'retiring']],
    [undefined, ['dropped', 'dropped']],
    // Queried only when all say so.
    ['building', ['ready', 'building']],
    ['building', ['building', 'ready']],
    ['building', ['ready', undefined]],
    ['building', [undefined, 'ready']],
    ['building', ['building', undefined]],
    ['retiring', ['ready', 'retiring']],
    ['retiring', ['retiring', 'ready']],
    // Written until all say that it is dropped.
    ['retiring', ['dropped', 'ready']],
    ['retiring', ['retiring', 'dropped']],
    ['building', ['dropped', 'building']],
    // A name that was taken, and nothing else.
    [undefined, ['dropped', undefined]],
    [undefined, [undefined, 'dropped']],
  ] as const)('is %s where they say %j', (state, states) => {
    expect(merged(...states)).toBe(state)
    expect(merged(...states, ...states)).toBe(state)
  })
})

describe('what is merged of catalogs', () => {
  it('has every index that any of them has, each once and each by its own table', () => {
    const { indexes } = mergeCatalogs([
      shardCatalog({ indexes: [entry('ready'), entry('building', 2)] }),
      shardCatalog({ indexes: [entry('ready'), entry('building', 2), entry('building', 3)] }),
    ])
    expect(indexes.map(({ generation, state }) => `${generation} ${state}`)).toEqual([
      '1 ready',
      '2 building',
      '3 building',
    ])
  })

  it('has the epoch of each, in their order, and the name of the store', () => {
    const shards = [3, 1, 2].map((epoch) => shardCatalog({ epoch }))
    expect(mergeCatalogs(shards)).toMatchObject({ epochs: [3, 1, 2], storeId: 'store' })
  })

  it.each([
    [undefined, undefined, { mayDefer: false, everyoneLooks: false }],
    [undefined, false, { mayDefer: true, everyoneLooks: false }],
    [false, false, { mayDefer: true, everyoneLooks: false }],
    [true, false, { mayDefer: true, everyoneLooks: true }],
    [false, true, { mayDefer: true, everyoneLooks: true }],
    [true, true, { mayDefer: true, everyoneLooks: true }],
  ] as const)('may defer as soon as one says so (%s, %s)', (one, other, expected) => {
    const shards = [shardCatalog({ mayDefer: one }), shardCatalog({ mayDefer: other })]
    expect(mergeCatalogs(shards)).toMatchObject(expected)
  })

  it('goes by the most careful policies that any shard has', () => {
    const shards = [
      shardCatalog({ deleteDelayMs: 5, onIndexFailure: 'fail' }),
      shardCatalog({ deleteDelayMs: 7, onIndexFailure: 'defer', keepTombstonesMs: 800_000_000 }),
      shardCatalog({ keepTombstonesMs: 900_000_000 }),
    ]
    expect(mergeCatalogs(shards).policies).toEqual({
      deleteDelayMs: 7,
      onIndexFailure: 'defer',
      keepTombstonesMs: 900_000_000,
    })
    expect(mergeCatalogs([shardCatalog({})]).policies).toEqual({
      deleteDelayMs: 0,
      onIndexFailure: 'fail',
      keepTombstonesMs: 604_800_000,
    })
  })
})
