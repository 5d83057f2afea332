import { expect, test } from 'vitest'
import { createOwnWrites, type OwnWrites, type Swap } from './own-writes.ts'

const SECOND = 1_000_000
const swap = (base: number, version: number): Swap => ({ base, version })

/** Writes an entity from version `from` up to version `to`. */
function writeInARow(own: OwnWrites, from: number, to: number): void {
  for (let base = from; base < to; base++) own.won([swap(base, base + 1)])
}

test('an entity that others wrote a moment ago is contested', () => {
  const own = createOwnWrites()
  expect(own.areContested([swap(5 * SECOND, 5 * SECOND + 900_000)])).toBe(true)
  // The clock of whoever wrote it was ahead.
  expect(own.areContested([swap(5 * SECOND, 5 * SECOND + 1)])).toBe(true)
})

test('one that nobody has written for longer is not', () => {
  expect(createOwnWrites().areContested([swap(5 * SECOND, 6 * SECOND)])).toBe(false)
})

test('one that we have made is not, until others write it', () => {
  const own = createOwnWrites()
  own.inserted([swap(0, 100)])
  expect(own.areContested([swap(100, 200)])).toBe(false)
  own.won([swap(100, 200)])
  expect(own.areContested([swap(200, 300)])).toBe(false)
  expect(own.areContested([swap(250, 300)])).toBe(true)
})

test('one that others wrote is not any more once we have written it several times in a row', () => {
  const own = createOwnWrites()
  writeInARow(own, 100, 103)
  expect(own.areContested([swap(103, 200)])).toBe(true)
  writeInARow(own, 103, 104)
  expect(own.areContested([swap(104, 200)])).toBe(false)
  // Somebody came between.
  own.won([swap(150, 200)])
  expect(own.areContested([swap(200, 300)])).toBe(true)
})

test('one that we have written after it was quiet is not, until others write it', () => {
  const own = createOwnWrites()
  const written = 9 * SECOND
  own.won([swap(5 * SECOND, written)])
  expect(own.areContested([swap(written, written + 100)])).toBe(false)
  // Somebody came between.
  expect(own.areContested([swap(written + 50, written + 100)])).toBe(true)
})

test('of several, one is enough', () => {
  const own = createOwnWrites()
  own.inserted([swap(0, 100), swap(0, 101)])
  expect(own.areContested([swap(100, 200), swap(101, 201)])).toBe(false)
  expect(own.areContested([swap(100, 200), swap(150, 201)])).toBe(true)
})

test('the last ten thousand writes are remembered, and not many more', () => {
  const own = createOwnWrites()
  for (let version = 0; version < 25_000; version++) own.inserted([swap(0, version)])
  const isForgotten = (version: number): boolean => own.areContested([swap(version, version + 1)])
  const versions = Array.from({ length: 25_000 }, (_, version) => version)
  expect(versions.slice(15_000).filter(isForgotten)).toEqual([])
  expect(versions.slice(0, 5_000).every(isForgotten)).toBe(true)
})
