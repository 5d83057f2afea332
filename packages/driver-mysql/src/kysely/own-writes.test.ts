import { expect, test } from 'vitest'
import { createOwnWrites, type OwnWrites, type Swap } from './own-writes.ts'

const SECOND = 1_000_000
const idOf = (number: number): Uint8Array => Uint8Array.of(number >> 16, number >> 8, number)
const swap = (number: number, base: number, version: number): Swap => ({ id: idOf(number), base, version })

/** Writes an entity from version `from` up to version `to`. */
function writeInARow(own: OwnWrites, number: number, from: number, to: number): void {
  for (let base = from; base < to; base++) own.won([swap(number, base, base + 1)])
}

test('an entity that others wrote a moment ago is contested', () => {
  const own = createOwnWrites()
  expect(own.areContested([swap(1, 5 * SECOND, 5 * SECOND + 900_000)])).toBe(true)
  // The clock of whoever wrote it was ahead.
  expect(own.areContested([swap(1, 5 * SECOND, 5 * SECOND + 1)])).toBe(true)
})

test('one that nobody has written for longer is not', () => {
  expect(createOwnWrites().areContested([swap(1, 5 * SECOND, 6 * SECOND)])).toBe(false)
})

test('one that we have made is not, until others write it', () => {
  const own = createOwnWrites()
  own.inserted([swap(1, 0, 100)])
  expect(own.areContested([swap(1, 100, 200)])).toBe(false)
  own.won([swap(1, 100, 200)])
  expect(own.areContested([swap(1, 200, 300)])).toBe(false)
  expect(own.areContested([swap(1, 250, 300)])).toBe(true)
})

test('one that others wrote is not any more once we have written it several times in a row', () => {
  const own = createOwnWrites()
  writeInARow(own, 1, 100, 103)
  expect(own.areContested([swap(1, 103, 200)])).toBe(true)
  writeInARow(own, 1, 103, 104)
  expect(own.areContested([swap(1, 104, 200)])).toBe(false)
  // Somebody came between.
  own.won([swap(1, 150, 200)])
  expect(own.areContested([swap(1, 200, 300)])).toBe(true)
})

test('one at which others came before us is contested, whoever had written it', () => {
  const own = createOwnWrites()
  own.inserted([swap(1, 0, 100)])
  own.lost([swap(1, 100, 200)])
  expect(own.areContested([swap(1, 100, 200)])).toBe(true)
})

test('of several, one is enough', () => {
  const own = createOwnWrites()
  own.inserted([swap(1, 0, 100), swap(2, 0, 100)])
  expect(own.areContested([swap(1, 100, 200), swap(2, 100, 200)])).toBe(false)
  expect(own.areContested([swap(1, 100, 200), swap(2, 150, 200)])).toBe(true)
})

test('the ten thousand entities that were written last are remembered, and not many more', () => {
  const own = createOwnWrites()
  for (let number = 0; number < 25_000; number++) own.inserted([swap(number, 0, 100)])
  const isForgotten = (number: number): boolean => own.areContested([swap(number, 100, 200)])
  const numbers = Array.from({ length: 25_000 }, (_, number) => number)
  expect(numbers.slice(15_000).filter(isForgotten)).toEqual([])
  expect(numbers.slice(0, 5_000).every(isForgotten)).toBe(true)
})

test('at one that was written long ago, too, others can come before us', () => {
  const own = createOwnWrites()
  for (let number = 0; number < 15_000; number++) own.inserted([swap(number, 0, 100)])
  expect(own.areContested([swap(1, 100, 200)])).toBe(false)
  own.lost([swap(1, 100, 200)])
  expect(own.areContested([swap(1, 100, 200)])).toBe(true)
})
