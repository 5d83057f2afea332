import { deepStrictEqual } from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isLooseleafError, type Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
// This entry loads the native part of msgpackr for the whole process; the other reader imports `msgpackr/pack`.
import { Packr } from 'msgpackr'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { isLong, runsOf } from '@looseleaf-tooling/vitest/long'
import { unpackByMsgpackr } from '../test/msgpackr-reader.ts'
import { msgpackFormat } from './msgpack-format.ts'

/** Returns the bag, or the code of the error. */
function outcome(read: (bytes: Uint8Array) => Bag, bytes: Uint8Array): Bag | string {
  try {
    return read(bytes)
  } catch (error) {
    if (isLooseleafError(error)) return error.code
    throw error
  }
}

/** Expects the same bag or error code from both readers. Returns whether they accept the bytes. */
function sameByBoth(bytes: Uint8Array): boolean {
  const before = Buffer.from(bytes)
  const ours = outcome(msgpackFormat.decode, bytes)
  deepStrictEqual(ours, outcome(unpackByMsgpackr, bytes))
  if (!before.equals(bytes)) expect.fail('A reader changed the bytes.')
  return typeof ours !== 'string'
}

describe('the reader of MessagePack, beside a scan and msgpackr', () => {
  test('both readers return every bag', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        const bytes = msgpackFormat.encode(bag)
        expect(sameByBoth(bytes)).toBe(true)
        deepStrictEqual(msgpackFormat.decode(bytes), bag)
      }),
      { numRuns: runsOf(150) },
    )
  })

  test('both readers return texts and names of any length', () => {
    for (const length of [0, 11, 12, 13, 31, 32, 33, 63, 64, 65, 85, 255, 256, 257, 21_845, 65_535, 65_536]) {
      for (const letter of ['x', 'é', '€', '𝄞']) {
        const text = letter.repeat(length)
        const bag = { [text]: text, more: [text, { [text]: 1 }] }
        const bytes = msgpackFormat.encode(bag)
        expect(sameByBoth(bytes)).toBe(true)
        deepStrictEqual(msgpackFormat.decode(bytes), bag)
      }
    }
  })

  test('both readers agree on changed bytes', () => {
    let accepted = 0
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
    fc.assert(
      fc.property(arbitraryBag, fc.array(change, { minLength: 40, maxLength: 40 }), (bag, changes) => {
        const bytes = msgpackFormat.encode(bag)
        for (const [position, byte] of changes) {
          const changed = Buffer.from(bytes)
          changed[position % changed.length] = byte
          if (!sameByBoth(changed)) continue
          accepted++
          const read = msgpackFormat.decode(changed)
          deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(read)), read)
        }
      }),
      { numRuns: 40, seed: 20090227 },
    )
    expect(accepted).toBeGreaterThan(200)
  })

  test('both readers agree on random bytes', () => {
    const tags = [
      0x80, 0x81, 0x82, 0x91, 0xa0, 0xa1, 0xc0, 0xc1, 0xc4, 0xc7, 0xca, 0xcb, 0xcf, 0xd3, 0xd6, 0xd7, 0xd9,
      0xdc, 0xde, 0xff,
    ]
    const byte = fc.oneof(fc.constantFrom(...tags), fc.nat({ max: 255 }))
    const bag = fc.tuple(
      fc.constantFrom(0x80, 0x81, 0x82, 0x83, 0xde, 0xdf),
      fc.array(byte, { maxLength: 40 }),
    )
    fc.assert(
      fc.property(bag, ([first, rest]) => {
        sameByBoth(Uint8Array.from([first, ...rest]))
      }),
      { numRuns: isLong ? 20_000 : 2_000 },
    )
  })

  test('types that msgpackr writes with other settings are refused', () => {
    const records = new Packr({ moreTypes: true })
    for (const value of [
      { a: 1, b: 2 },
      [{ a: 1 }],
      { a: new Set([1]) },
      { a: /x/ },
      { a: undefined },
      { a: new Error('x') },
      { a: new Float64Array(2) },
    ]) {
      expect(sameByBoth(records.pack(value))).toBe(false)
    }
    const bundled = new Packr({ useRecords: false, bundleStrings: true })
    expect(sameByBoth(bundled.pack({ a: 'a text that is bundled', b: 'another one' }))).toBe(false)
    const cloned = new Packr({ useRecords: false, structuredClone: true })
    const shared = [1]
    expect(sameByBoth(cloned.pack({ a: shared, b: shared }))).toBe(false)
  })

  test('maps with a length of 16 bits are read, though never written', () => {
    const packr = new Packr({ useRecords: false, useToJSON: false })
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        deepStrictEqual(msgpackFormat.decode(packr.pack(bag)), bag)
      }),
      { numRuns: runsOf(60) },
    )
  })
})

describe('names that were learned', () => {
  const named = (name: string): number[] => [0xa0 | name.length, ...Buffer.from(name)]
  const read = (...bytes: number[]): Bag => msgpackFormat.decode(Uint8Array.from(bytes))

  test('a repeated name is refused, even if all names before it are learned', () => {
    for (let round = 0; round < 3; round++) {
      expect(read(0x82, ...named('first'), 1, ...named('second'), 2)).toStrictEqual({ first: 1, second: 2 })
      for (const again of ['first', 'second']) {
        const body = [0x83, ...named('first'), 1, ...named('second'), 2, ...named(again), 3]
        expect(codeOf(() => read(...body))).toBe('BODY_DAMAGED')
      }
    }
  })

  test('a name in a longer form is read, and refused if it is repeated', () => {
    const longer = [0xd9, 4, ...Buffer.from('long')]
    for (let round = 0; round < 3; round++) {
      expect(read(0x81, ...longer, 1)).toStrictEqual({ long: 1 })
      expect(read(0x82, ...named('here'), 0, ...longer, 1)).toStrictEqual({ here: 0, long: 1 })
      expect(codeOf(() => read(0x82, ...named('long'), 0, ...longer, 1))).toBe('BODY_DAMAGED')
      expect(codeOf(() => read(0x82, ...longer, 0, ...named('long'), 1))).toBe('BODY_DAMAGED')
    }
  })

  test('a name is not confused with its prefixes', () => {
    for (const name of ['na', 'name', 'names', 'n']) {
      expect(read(0x81, ...named(name), 7)).toStrictEqual({ [name]: 7 })
    }
    expect(codeOf(() => read(0x81, 0xa4, 0x6e, 0x61, 0x6d))).toBe('BODY_DAMAGED')
  })

  test('an object with more names than are learned is read, and a repeated name in it is refused', () => {
    const names = Array.from({ length: 100 }, (_, i) => `name${i}`)
    const bag = Object.fromEntries(names.map((name, i) => [name, i]))
    for (let round = 0; round < 2; round++)
      deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(bag)), bag)
    const bytes = Buffer.from(msgpackFormat.encode(bag))
    // `name98` becomes a second `name88`.
    bytes[bytes.lastIndexOf('name98') + 4] = 0x38
    for (let round = 0; round < 2; round++) {
      expect(codeOf(() => msgpackFormat.decode(bytes))).toBe('BODY_DAMAGED')
    }
  })

  test('new names take bounded memory, and learned names are still read', () => {
    const entry = { title: 'x', likes: 3, tags: ['a'] }
    const readMany = (from: number): void => {
      for (let i = from; i < from + 20_000; i++) {
        const strange = { [`a${i}`]: i, [`b${i}`]: { [`c${i}`]: i }, title: 'y' }
        deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(strange)), strange)
        if (i % 100 === 0) deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(entry)), entry)
      }
    }
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const heapAfter = (from: number): number => {
      readMany(from)
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = heapAfter(0)
    // Without a bound these 60,000 names would take 18 MB.
    expect(heapAfter(20_000) - before).toBeLessThan(6_000_000)
  })
})
