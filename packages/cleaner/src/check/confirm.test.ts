import type { IndexRow, Key } from '@looseleaf/core'
import { keyIdentity } from '@looseleaf/index-engine'
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

/** Versions, places of missing rows, and places of dangling ones with their stamps, in the order in which they came. */
const contents = (candidates: ReadonlyMap<string, Candidate>): unknown[] =>
  Array.from(candidates.values(), (each) => [each.version, [...each.missing], [...each.dangling]])

describe('what a look has found', () => {
  const [one, other] = [entityOf(1, 7), entityOf(2, 8)]

  it('is gathered by entity, by shard and key', () => {
    const found = candidatesOf({
      missing: [missing(one, 0, 1), missing(other, 0, 1), missing(one, 1, 1), missing(one, 0, 2)],
      dangling: [dangling(one, 0, 3, 5), dangling(one, 1, 3, 6)],
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

  it('is added to what another part of the look has found of the same version', () => {
    const all = candidatesOf({ missing: [missing(one, 0, 1)], dangling: [dangling(one, 0, 3, 5)] })
    mergeCandidates(
      all,
      candidatesOf({
        missing: [missing(one, 0, 2), missing(other, 0, 1)],
        dangling: [dangling(one, 0, 4, 6)],
      }),
    )
    const dangles = [
      [place(0, 3), 5],
      [place(0, 4), 6],
    ]
    expect(contents(all)).toEqual([
      [7, [place(0, 1), place(0, 2)], dangles],
      [8, [place(0, 1)], []],
    ])
  })

  it('stands in place of what was found of another version', () => {
    const all = candidatesOf({ missing: [missing(one, 0, 1)] })
    mergeCandidates(all, candidatesOf({ missing: [missing(entityOf(1, 9), 0, 2)] }))
    expect(contents(all)).toEqual([[9, [place(0, 2)], []]])
  })
})
