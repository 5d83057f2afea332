import type { IndexRow, Key } from '@looseleaf/core/internal'
import { keyIdentity } from '@looseleaf/index-engine/internal'
import { describe, expect, it } from 'vitest'
import type { DerivedEntity } from '../look/derive-entity.ts'
import type { DanglingRow, MissingRow } from '../look/inspect.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { candidatesOf, mergeCandidates, type Candidate } from './confirm.ts'

const target = {} as IndexTarget
const entityOf = (byte: number, version: number): DerivedEntity => ({
  id: Buffer.alloc(16, byte),
  version,
  updated: 0,
  expected: new Map(),
})
const keyOf = (rank: number): Key => [BigInt(rank)]

const missing = (entity: DerivedEntity, shard: number, rank: number): MissingRow => ({
  entity,
  target,
  row: { shard, key: keyOf(rank), identity: keyIdentity(keyOf(rank)) },
})

function dangling(entity: DerivedEntity, shard: number, rank: number, version: number): DanglingRow {
  const row: IndexRow = { key: keyOf(rank), entityId: entity.id, version }
  return { entity, target, shard, row, misplaced: false }
}

const place = (shard: number, rank: number): string => `${shard}/${keyIdentity(keyOf(rank))}`

/** Returns the version, the missing rows, and the dangling rows with their stamps, of each candidate in order. */
const contents = (candidates: ReadonlyMap<string, Candidate>): unknown[] =>
  Array.from(candidates.values(), ({ version, missing: places, dangling: stamps }) => [
    version,
    [...places],
    [...stamps],
  ])

describe('findings of a look', () => {
  const [first, second] = [entityOf(1, 7), entityOf(2, 8)]

  it('findings are grouped by entity, shard and key', () => {
    const found = candidatesOf({
      missing: [missing(first, 0, 1), missing(second, 0, 1), missing(first, 1, 1), missing(first, 0, 2)],
      dangling: [dangling(first, 0, 3, 5), dangling(first, 1, 3, 6)],
    })
    const dangles = [
      [place(0, 3), 5],
      [place(1, 3), 6],
    ]
    expect(contents(found)).toEqual([
      [7, [place(0, 1), place(1, 1), place(0, 2)], dangles],
      [8, [place(0, 1)], []],
    ])
    expect(contents(candidatesOf({}))).toEqual([])
  })

  it('findings of two parts of a look at the same version are merged', () => {
    const merged = candidatesOf({ missing: [missing(first, 0, 1)], dangling: [dangling(first, 0, 3, 5)] })
    mergeCandidates(
      merged,
      candidatesOf({
        missing: [missing(first, 0, 2), missing(second, 0, 1)],
        dangling: [dangling(first, 0, 4, 6)],
      }),
    )
    const dangles = [
      [place(0, 3), 5],
      [place(0, 4), 6],
    ]
    expect(contents(merged)).toEqual([
      [7, [place(0, 1), place(0, 2)], dangles],
      [8, [place(0, 1)], []],
    ])
  })

  it('findings at another version replace earlier ones', () => {
    const merged = candidatesOf({ missing: [missing(first, 0, 1)] })
    mergeCandidates(merged, candidatesOf({ missing: [missing(entityOf(1, 9), 0, 2)] }))
    expect(contents(merged)).toEqual([[9, [place(0, 2)], []]])
  })
})
