import { parseId } from '@looseleaf/core'
import { idKey, type IndexTableSpec } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keyIdentity } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  byTag,
  byUser,
  entryOf,
  openStore,
  removeRow,
  rowFor,
  withDeleteDelay,
} from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import type { DanglingRow } from '../look/inspect.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { createLeftToWriters, type LeftToWriters } from './left-to-writers.ts'

// Lost rows are kept for 11 ms here, and writers may be late by a second.
const DUE_MS = 1_011

let time: LeapingTime
let store: DataStore
let targets: IndexTarget[]
let leftToWriters: LeftToWriters
/** Look-ups: shard, tables, and number of ids. */
let looks: string[]

beforeEach(async () => {
  time = leapingTime()
  looks = []
  const driver = faultyDriver(await memoryShards(2).connect(), ({ shard, operation, args }) => {
    if (operation !== 'rowsOf') return undefined
    const [specs, ids] = args as [IndexTableSpec[], Uint8Array[]]
    looks.push([shard, ...specs.map(({ table }) => table), ids.length].join(' '))
    return undefined
  })
  store = await openStore({ driver, time, indexes: [byUser, byTag] })
  targets = ['by_user', 'by_tag'].map((name) => indexTarget(store.context, entryOf(store, name)))
  leftToWriters = createLeftToWriters(store.context)
  looks.length = 0
})

/** Adds a row that an entity has lost. The entity has another row, unless it `isGone`. */
async function lost(
  name: 'by_user' | 'by_tag',
  id: string,
  value: string,
  { version = 5, isGone = false } = {},
): Promise<DanglingRow> {
  const bag = name === 'by_tag' ? { tags: [value] } : { user_id: value, published: 1 }
  const placed = rowFor(store, name, id, bag, version)
  await addRow(store, name, placed)
  const { shard, row } = placed
  const target = targets.find(({ entry }) => entry.name === name)!
  const another = { shard, key: row.key, identity: `not ${keyIdentity(row.key)}` }
  const entity = {
    id: row.entityId,
    version: 9,
    updated: 0,
    expected: new Map([[target, isGone ? [] : [another]]]),
  }
  return { entity, target, shard, row, misplaced: false }
}

async function overdue(indexes = targets): Promise<string[]> {
  return (await leftToWriters.overdue(indexes, undefined)).map(idKey).toSorted()
}

const keyOf = (id: string): string => idKey(parseId(id))

describe('a row that an entity has lost', () => {
  it('a lost row is left to its writer until it is overdue, and from then on until `done` not', async () => {
    const id = idOn(store, 0)
    const found = await lost('by_tag', id, 'x')
    expect(leftToWriters.leaves(found)).toBe(true)
    time.leap(DUE_MS - 1)
    expect(leftToWriters.leaves(found)).toBe(true)
    expect(await overdue()).toEqual([])
    expect(looks).toEqual([])
    time.leap(1)
    expect(await overdue()).toEqual([keyOf(id)])
    expect(leftToWriters.leaves(found)).toBe(false)
    // A row stays overdue until `done`.
    expect(await overdue()).toEqual([keyOf(id)])
    expect(looks).toEqual([`0 ${found.target.entry.table} 1`])
    leftToWriters.done()
    expect(await overdue()).toEqual([])
    expect(leftToWriters.leaves(found)).toBe(true)
  })

  it('a lost row is not left to a writer that deletes it at once, or never', async () => {
    const found = await lost('by_tag', idOn(store, 0), 'x')
    expect(leftToWriters.leaves(await lost('by_tag', idOn(store, 0), 'x', { isGone: true }))).toBe(false)
    const careful = createLeftToWriters(withDeleteDelay(store.context, 1))
    expect(careful.leaves(found)).toBe(false)
    expect(leftToWriters.leaves(found)).toBe(true)
  })

  it('a lost row is not overdue if its writer has deleted it, or it was rewritten', async () => {
    const [deleted, rewritten, existing] = [idOn(store, 1), idOn(store, 1), idOn(store, 1)]
    for (const id of [deleted, rewritten, existing])
      expect(leftToWriters.leaves(await lost('by_tag', id, 'x'))).toBe(true)
    await removeRow(store, 'by_tag', rowFor(store, 'by_tag', deleted, { tags: ['x'] }, 0))
    const newer = await lost('by_tag', rewritten, 'x', { version: 7 })
    time.leap(DUE_MS)
    expect(await overdue()).toEqual([keyOf(existing)])
    expect(leftToWriters.leaves(newer)).toBe(true)
  })

  it('a lost row of a dropped index is not looked up', async () => {
    const [first, second] = [idOn(store, 0), idOn(store, 0)]
    const found = await lost('by_tag', first, 'x')
    leftToWriters.leaves(found)
    leftToWriters.leaves(await lost('by_user', second, 'ada'))
    time.leap(DUE_MS)
    expect(await overdue(targets.slice(1))).toEqual([keyOf(first)])
    expect(looks.some((look) => look.includes(targets[0]!.entry.table))).toBe(false)
  })
})

it('entities of overdue rows are looked up and returned once, on their shards and in their indexes', async () => {
  const [first, second] = [idOn(store, 0), idOn(store, 1)]
  for (const value of ['x', 'y', 'z']) leftToWriters.leaves(await lost('by_tag', first, value))
  leftToWriters.leaves(await lost('by_tag', second, 'x'))
  const { table } = targets[1]!.entry
  time.leap(DUE_MS)
  expect(await overdue()).toEqual([keyOf(first), keyOf(second)].toSorted())
  expect(looks.toSorted()).toEqual([`0 ${table} 1`, `1 ${table} 1`])
})

it('lost rows become overdue one after the other', async () => {
  const [first, second] = [idOn(store, 0), idOn(store, 0)]
  leftToWriters.leaves(await lost('by_tag', first, 'x'))
  time.leap(1)
  leftToWriters.leaves(await lost('by_tag', second, 'x'))
  time.leap(DUE_MS - 1)
  expect(await overdue()).toEqual([keyOf(first)])
  leftToWriters.done()
  time.leap(1)
  expect(await overdue()).toEqual([keyOf(second)])
})

it('at most 20,000 rows are left to their writers', async () => {
  const found = await lost('by_tag', idOn(store, 0), 'x')
  const nth = (version: number): DanglingRow => ({ ...found, row: { ...found.row, version } })
  for (let version = 1; version <= 20_000; version++)
    if (!leftToWriters.leaves(nth(version))) throw new Error(`Row ${version} is not left to its writer.`)
  expect(leftToWriters.leaves(nth(20_001))).toBe(false)
  expect(leftToWriters.leaves(nth(20_000))).toBe(true)
})
