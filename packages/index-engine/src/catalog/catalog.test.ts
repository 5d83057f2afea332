import type { IndexState } from '@looseleaf/core/internal'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { describe, expect, it } from 'vitest'
import { linkIndex } from '../../test/link-index.ts'
import { mergeCatalogs } from './catalog.ts'

/** Merges the states of an index on several shards; undefined for a shard without it. */
function merged(...states: (IndexState | undefined)[]): IndexState | undefined {
  const shards = states.map((state) => catalogOf({ indexes: state === undefined ? [] : [linkIndex(state)] }))
  return mergeCatalogs(shards).indexes[0]?.state
}

describe('the merged state of an index', () => {
  it.each([
    ['ready', ['ready', 'ready']],
    ['building', ['building', 'building']],
    ['retiring', ['retiring', 'retiring']],
    [undefined, ['dropped', 'dropped']],
    // Ready only if all shards are ready.
    ['building', ['ready', 'building']],
    ['building', ['building', 'ready']],
    ['building', ['ready', undefined]],
    ['building', [undefined, 'ready']],
    ['building', ['building', undefined]],
    ['retiring', ['ready', 'retiring']],
    ['retiring', ['retiring', 'ready']],
    // Written until all shards have dropped it.
    ['retiring', ['dropped', 'ready']],
    ['retiring', ['retiring', 'dropped']],
    ['building', ['dropped', 'building']],
    // A reserved name only.
    [undefined, ['dropped', undefined]],
    [undefined, [undefined, 'dropped']],
  ] as const)('the merged state is %s if the states of the shards are %j', (state, states) => {
    expect(merged(...states)).toBe(state)
    expect(merged(...states, ...states)).toBe(state)
  })
})

describe('a merged catalog', () => {
  it('a merged catalog has every index of any shard, once per table', () => {
    const { indexes } = mergeCatalogs([
      catalogOf({ indexes: [linkIndex('ready'), linkIndex('building', 2)] }),
      catalogOf({ indexes: [linkIndex('ready'), linkIndex('building', 2), linkIndex('building', 3)] }),
    ])
    expect(indexes.map(({ generation, state }) => `${generation} ${state}`)).toEqual([
      '1 ready',
      '2 building',
      '3 building',
    ])
  })

  it('a merged catalog has the epochs in the order of the shards, and the id of the store', () => {
    const shards = [3, 1, 2].map((epoch) => catalogOf({ epoch }))
    expect(mergeCatalogs(shards)).toMatchObject({ epochs: [3, 1, 2], storeId: 'store' })
  })

  it.each([
    [undefined, undefined, { mayDefer: false, everyoneLooks: false }],
    [undefined, false, { mayDefer: true, everyoneLooks: false }],
    [false, false, { mayDefer: true, everyoneLooks: false }],
    [true, false, { mayDefer: true, everyoneLooks: true }],
    [false, true, { mayDefer: true, everyoneLooks: true }],
    [true, true, { mayDefer: true, everyoneLooks: true }],
  ] as const)('a merged catalog may defer as soon as one shard may (%s, %s)', (first, second, expected) => {
    const shards = [catalogOf({ mayDefer: first }), catalogOf({ mayDefer: second })]
    expect(mergeCatalogs(shards)).toMatchObject(expected)
  })

  it('a merged catalog has the most careful policies of all shards', () => {
    const shards = [
      catalogOf({ deleteDelayMs: 5, onIndexFailure: 'fail' }),
      catalogOf({ deleteDelayMs: 7, onIndexFailure: 'defer', keepTombstonesMs: 800_000_000 }),
      catalogOf({ keepTombstonesMs: 900_000_000 }),
    ]
    expect(mergeCatalogs(shards).policies).toEqual({
      deleteDelayMs: 7,
      onIndexFailure: 'defer',
      keepTombstonesMs: 900_000_000,
    })
    expect(mergeCatalogs([catalogOf()]).policies).toEqual({
      deleteDelayMs: 0,
      onIndexFailure: 'fail',
      keepTombstonesMs: 604_800_000,
    })
  })
})
