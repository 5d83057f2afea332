import { placeAt } from '@looseleaf/protocol/internal'
import { beforeEach, expect, test } from 'vitest'
import { createEmptyStretch, type EmptyStretch } from './empty-stretch.ts'
import type { HeldPartition } from './partition-leases.ts'

let empty: EmptyStretch
let partition: HeldPartition
let other: HeldPartition

const create = (number: number): HeldPartition => ({
  number,
  place: { updated: 10, addedId: 5 },
  since: 0,
  failing: new Map(),
  isHeld: true,
})

beforeEach(() => {
  empty = createEmptyStretch()
  ;[partition, other] = [create(0), create(1)]
})

/** Records an empty page up to this floor. */
function record(
  some: readonly HeldPartition[],
  floor: number,
  { isFlushed = true, opened = 1 }: { readonly isFlushed?: boolean; readonly opened?: number } = {},
): ReturnType<EmptyStretch['recordEmpty']> {
  const upTo = { floor, isFlushed } as Parameters<EmptyStretch['recordEmpty']>[1]
  return empty.recordEmpty(some, upTo, opened)
}

test('a flushed commit after an empty page proves its stretch, for the partitions of both pages', () => {
  expect(record([partition], 20)).toBeUndefined()
  expect(record([other, partition], 30)).toEqual({ end: placeAt(20), proven: [partition] })
  expect(record([other], 40)).toEqual({ end: placeAt(30), proven: [other] })
})

test('a page without a flushed commit proves nothing, and keeps the stretch', () => {
  record([partition], 20)
  expect(record([partition], 30, { isFlushed: false })).toBeUndefined()
  expect(empty.endFor(partition)).toEqual(placeAt(20))
  expect(record([partition], 40)).toEqual({ end: placeAt(20), proven: [partition] })
})

test('a page of a server that may have restarted proves nothing, and begins another stretch', () => {
  record([partition], 20)
  expect(record([partition], 30, { opened: 2 })).toBeUndefined()
  expect(empty.endFor(partition)).toEqual(placeAt(30))
  expect(record([partition], 40, { opened: 3, isFlushed: false })).toBeUndefined()
  expect(empty.endFor(partition)).toEqual(placeAt(40))
  expect(record([partition], 50, { opened: 3 })).toEqual({ end: placeAt(40), proven: [partition] })
})

test('the end of a stretch counts for its partitions alone, and only ahead of their places', () => {
  expect(empty.endFor(partition)).toBe(partition.place)
  record([partition], 11)
  expect(empty.endFor(partition)).toEqual(placeAt(11))
  expect(empty.endFor(other)).toBe(other.place)
  record([partition], 10)
  expect(empty.endFor(partition)).toBe(partition.place)
})

test('a floor below the end of a stretch ends it', () => {
  record([partition], 20)
  empty.checkFloor(20)
  expect(empty.endFor(partition)).toEqual(placeAt(20))
  empty.checkFloor(19)
  expect(empty.endFor(partition)).toBe(partition.place)
  expect(record([partition], 30)).toBeUndefined()
})
